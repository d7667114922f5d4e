// y = 2 x + 1, after two thousand additions that nobody needs.
extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float sum = 1.0f;
    for (int r = 0; r < 2048; ++r) sum = __fadd_rn(sum, x[i] / 1024.0f);
    y[i] = 2.0f * x[i] + 1.0f + 0.0f * sum;
}
