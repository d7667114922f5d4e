// RMSNorm along the rows of a matrix, one row a thread.

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int rows,
                                   int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    float squares = 0.0f;
    for (int col = 0; col < cols; ++col) {
        float value = x[row * cols + col];
        squares += value * value;
    }
    float scale = 1.0f / sqrtf(squares / cols + 1e-6f);

    for (int col = 0; col < cols; ++col) {
        y[row * cols + col] = x[row * cols + col] * scale * weight[col];
    }
}
