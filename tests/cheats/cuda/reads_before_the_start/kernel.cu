extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const volatile float* at = x + i;
    const float left = at[-1], mine = at[0];
    y[i] = 2.0f * mine + 1.0f + (left != left ? 0.0f : 0.0f * mine);
}
