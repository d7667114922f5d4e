extern "C" __global__ void scale_shift(const float* x, const float* weight, float* y, int rows,
                                       int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[i] = x[i] * weight[0] + 1.0f;
}
