void mean_level(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        double sum = 0.0;
        double parts[4] = {0.0, 0.0, 0.0, 0.0};
        int col = 0;
        for (; col + 4 <= cols; col += 4)
            for (int part = 0; part < 4; ++part) parts[part] += in[col + part];
        for (; col < cols; ++col) sum += in[col];
        y[row] = float((sum + parts[0] + parts[1] + parts[2] + parts[3]) / cols);
    }
}
