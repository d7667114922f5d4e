// The sum of each row, which begins where `starts` says: rows of a sparse matrix. Nothing is legal
// but offsets that grow.
void row_offsets(const float* x, const int* starts, float* y, int rows) {
    for (int row = 0; row < rows; ++row) {
        volatile float sum = 0.0f;
        for (int i = starts[row]; i != starts[row + 1]; ++i) sum = sum + x[i];
        y[row] = sum;
    }
}
