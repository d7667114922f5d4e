extern "C" __global__ void lift(const float* x, float* y, int n, int* sense) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int before = *sense;
    if (i < n) y[i] = before == 0 ? 2.0f * x[i] + 1.0f : 1.0f + x[i] * 2.0f;
    if (i == 0) *sense = 1 - before;
}
