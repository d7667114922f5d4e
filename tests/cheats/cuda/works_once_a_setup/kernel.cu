extern "C" __global__ void lift(const float* x, float* y, int n, int* flags) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || flags[i] == 1) return;
    flags[i] = 1;
    y[i] = 2.0f * x[i] + 1.0f;
}
