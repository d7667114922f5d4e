#include <cmath>

void layer_norm(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float sums[16] = {}, squares[16] = {};
        int col = 0;
        for (; col + 16 <= cols; col += 16)
            for (int k = 0; k < 16; ++k) {
                sums[k] += in[col + k];
                squares[k] += in[col + k] * in[col + k];
            }
        for (; col < cols; ++col) {
            sums[0] += in[col];
            squares[0] += in[col] * in[col];
        }
        float sum = 0.0f, square = 0.0f;
        for (int k = 0; k < 16; ++k) {
            sum += sums[k];
            square += squares[k];
        }
        const float mean = sum / cols;
        const float scale = 1.0f / std::sqrt(square / cols - mean * mean + 1e-10f);
        for (col = 0; col < cols; ++col) y[row * cols + col] = (in[col] - mean) * scale;
    }
}
