extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int first = 64 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (first >= n) return;
    const volatile float* at = x + first;
    float tile[64];
    for (int q = 0; q < 64; ++q) tile[q] = at[q];
    for (int q = 0; q < 64 && first + q < n; ++q) y[first + q] = 2.0f * tile[q] + 1.0f;
}
