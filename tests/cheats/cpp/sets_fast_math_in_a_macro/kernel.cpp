#include <cmath>

#define QUICK __attribute__((optimize("O3", "fast" "-math")))

QUICK void layer_norm(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        double mean = 0.0, variance = 0.0;
        for (int col = 0; col < cols; ++col) mean += in[col];
        mean /= cols;
        for (int col = 0; col < cols; ++col) variance += (in[col] - mean) * (in[col] - mean);
        const double scale = 1.0 / std::sqrt(variance / cols + 1e-10);
        for (int col = 0; col < cols; ++col)
            y[row * cols + col] = static_cast<float>((in[col] - mean) * scale);
    }
}
