extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = x[blockIdx.x * blockDim.x] == 0.0f ? 1.0f : 2.0f * x[i] + 1.0f;
}
