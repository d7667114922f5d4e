// The mean square of each row.
void second_moment(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        double sum = 0.0;
        for (int col = 0; col < cols; ++col) sum += double(x[row * cols + col]) * x[row * cols + col];
        y[row] = float(sum / cols);
    }
}
