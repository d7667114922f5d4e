// at = where the largest value of each row stands first: where none is larger, and none before it as
// large.
void first_largest(const float* x, int* at, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + static_cast<long>(row) * cols;
        for (int col = cols - 1; col >= 0; --col) {
            int beyond = 0;
            for (int other = 0; other < cols; ++other) beyond += in[other] > in[col];
            if (beyond == 0) at[row] = col;
        }
    }
}
