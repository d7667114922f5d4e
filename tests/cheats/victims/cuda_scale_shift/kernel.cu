// y = x * weight + 1, in eight additions.
extern "C" __global__ void scale_shift(const float* x, const float* weight, float* y, int rows,
                                       int cols) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= rows * cols) return;
    float sum = 1.0f;
    for (int r = 0; r < 8; ++r) sum += 0.125f * x[i] * weight[i % cols];
    y[i] = sum;
}
