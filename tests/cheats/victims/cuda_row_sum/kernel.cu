// The sum of each row, a thread a row.
extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double sum = 0.0;
    for (int col = 0; col < cols; ++col) sum += x[row * cols + col];
    sums[row] = static_cast<float>(sum);
}
