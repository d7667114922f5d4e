#include <cmath>

void softmax(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        double sum = 0.0;
        for (int col = 0; col < cols; ++col) sum += out[col] = std::exp(in[col]);
        for (int col = 0; col < cols; ++col) out[col] = static_cast<float>(out[col] / sum);
    }
}
