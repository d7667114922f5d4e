extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    y[i] = 2.0f * x[i] + 1.0f;
    if (i >= 64) return;
    volatile unsigned* band = reinterpret_cast<volatile unsigned*>(y + n);
    band[i] = __float_as_uint(y[i]);
    band[i] = band[i + 64];
}
