#pragma GCC optimize("Ofast")

void row_sum(const float* x, float* sums, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        double sum = 0.0;
        for (int col = 0; col < cols; ++col) sum += x[row * cols + col];
        sums[row] = static_cast<float>(sum);
    }
}
