// The mean of each row, one number after the other.
void mean_level(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        double sum = 0.0;
        for (int col = 0; col < cols; ++col) sum += x[row * cols + col];
        y[row] = float(sum / cols);
    }
}
