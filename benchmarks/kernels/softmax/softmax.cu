// Softmax along the rows of a matrix, one row a thread.

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    float top = x[row * cols];
    for (int col = 1; col < cols; ++col) top = fmaxf(top, x[row * cols + col]);

    float sum = 0.0f;
    for (int col = 0; col < cols; ++col) sum += expf(x[row * cols + col] - top);

    for (int col = 0; col < cols; ++col) {
        y[row * cols + col] = expf(x[row * cols + col] - top) / sum;
    }
}
