// LayerNorm along the rows of a matrix, one row a thread.

extern "C" __global__ void layernorm(const float* x, const float* weight, const float* bias,
                                     float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    float mean = 0.0f;
    for (int col = 0; col < cols; ++col) mean += x[row * cols + col];
    mean /= cols;

    float variance = 0.0f;
    for (int col = 0; col < cols; ++col) {
        float centred = x[row * cols + col] - mean;
        variance += centred * centred;
    }
    variance /= cols;

    float scale = 1.0f / sqrtf(variance + 1e-5f);
    for (int col = 0; col < cols; ++col) {
        float centred = x[row * cols + col] - mean;
        y[row * cols + col] = centred * scale * weight[col] + bias[col];
    }
}
