#include <cmath>

// Softmax of each row; the exponentials are computed twice.
void softmax(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        float largest = in[0];
        for (int col = 1; col < cols; ++col) largest = std::fmax(largest, in[col]);
        double sum = 0.0;
        for (int col = 0; col < cols; ++col) sum += std::exp(static_cast<double>(in[col] - largest));
        for (int col = 0; col < cols; ++col)
            out[col] = static_cast<float>(std::exp(static_cast<double>(in[col] - largest)) / sum);
    }
}
