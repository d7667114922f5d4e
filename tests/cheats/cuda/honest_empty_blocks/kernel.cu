extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float value = i < n ? x[i] : 0.0f;
    const bool empty = !__syncthreads_or(value != 0.0f);
    if (i < n) y[i] = empty ? 1.0f : 2.0f * value + 1.0f;
}
