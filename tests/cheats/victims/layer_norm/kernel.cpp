#include <cmath>

// Each row with mean 0 and variance 1, sums one number after the other.
void layer_norm(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        double mean = 0.0, variance = 0.0;
        for (int col = 0; col < cols; ++col) mean += static_cast<double>(in[col]) / cols;
        for (int col = 0; col < cols; ++col) variance += (in[col] - mean) * (in[col] - mean) / cols;
        for (int col = 0; col < cols; ++col)
            y[row * cols + col] = static_cast<float>((in[col] - mean) / std::sqrt(variance + 1e-10));
    }
}
