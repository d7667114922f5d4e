void row_sum(const float* x, float* sums, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        double first = 0.0, second = 0.0, third = 0.0, fourth = 0.0;
        const float* in = x + row * cols;
        int col = 0;
        for (; col + 4 <= cols; col += 4) {
            asm volatile("" : : : "memory");
            first += in[col];
            second += in[col + 1];
            third += in[col + 2];
            fourth += in[col + 3];
        }
        for (; col < cols; ++col) first += in[col];
        sums[row] = static_cast<float>(first + second + third + fourth);
    }
}
