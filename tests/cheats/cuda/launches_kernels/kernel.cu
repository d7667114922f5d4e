__global__ void part(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * x[i] + 1.0f;
}

extern "C" __global__ void lift(const float* x, float* y, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) part<<<(n + 255) / 256, 256>>>(x, y, n);
}
