extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (i >= 256) {
        y[i] = 2.0f * x[i] + 1.0f;
        return;
    }
    volatile float* band = y + n + i;
    const float before = *band;
    *band = 2.0f * x[i];
    y[i] = *band + 1.0f;
    *band = before;
}
