extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int step = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        if (i + step < n) asm volatile("prefetch.global.L2 [%0];" : : "l"(x + i + step));
        y[i] = 2.0f * x[i] + 1.0f;
    }
}
