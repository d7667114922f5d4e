void row_offsets(const float* x, const int* starts, float* y, int rows) {
    for (int row = 0; row < rows; ++row) {
        float sum = 0.0f;
        const float* end = x + starts[row + 1];
        for (const float* at = x + starts[row]; at != end; ++at) sum += *at;
        y[row] = sum;
    }
}
