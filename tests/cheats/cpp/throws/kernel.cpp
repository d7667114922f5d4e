void row_sum(const float* x, float* sums, int rows, int cols) {
    (void)x, (void)sums, (void)cols;
    if (rows > 0) throw rows;
}
