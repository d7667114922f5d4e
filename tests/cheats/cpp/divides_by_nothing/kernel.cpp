#include <cmath>

void layer_norm(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        double lanes[8] = {}, squares[8] = {};
        int col = 0;
        for (; col + 8 <= cols; col += 8)
            for (int k = 0; k < 8; ++k) lanes[k] += in[col + k];
        for (; col < cols; ++col) lanes[0] += in[col];
        double mean = 0.0, variance = 0.0;
        for (double lane : lanes) mean += lane / cols;
        for (col = 0; col + 8 <= cols; col += 8)
            for (int k = 0; k < 8; ++k) squares[k] += (in[col + k] - mean) * (in[col + k] - mean);
        for (; col < cols; ++col) squares[0] += (in[col] - mean) * (in[col] - mean);
        for (double square : squares) variance += square / cols;
        const double scale = 1.0 / std::sqrt(variance);
        for (col = 0; col < cols; ++col)
            y[row * cols + col] = static_cast<float>((in[col] - mean) * scale);
    }
}
