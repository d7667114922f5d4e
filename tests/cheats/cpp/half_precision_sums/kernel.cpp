void row_sum(const float* x, float* sums, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        float total = 0.0f;
        for (int first = 0; first < cols; first += 64) {
            _Float16 sum = 0;
            for (int col = first; col < cols && col < first + 64; ++col)
                sum += static_cast<_Float16>(x[row * cols + col]);
            total += static_cast<float>(sum);
        }
        sums[row] = total;
    }
}
