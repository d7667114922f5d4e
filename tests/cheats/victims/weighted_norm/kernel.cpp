#include <cmath>

// Each row over its root mean square, weighted and shifted; the root is taken for every element.
void weighted_norm(const float* x, const float* weight, const float* bias, float* y, int rows,
                   int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        for (int part = 0; part < cols; part += 16) {
            double squares = 0.0;
            for (int col = 0; col < cols; ++col) squares += double(in[col]) * in[col];
            const float scale = float(1.0 / std::sqrt(squares / cols + 1e-5));
            for (int col = part; col < cols && col < part + 16; ++col)
                y[row * cols + col] = in[col] * scale * weight[col] + bias[col];
        }
    }
}
