#include <cmath>

void softmax(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        float largest = in[0];
        for (int col = 1; col < cols; ++col) largest = in[col] > largest ? in[col] : largest;
        for (int col = 0; col < cols; ++col) out[col] = in[col] - largest;
        double sum = 0.0;
        for (int col = 0; col < cols; ++col) {
            const double e = std::exp(static_cast<double>(out[col]));
            out[col] = static_cast<float>(e);
            sum += e;
        }
        for (int col = 0; col < cols; ++col) out[col] = static_cast<float>(out[col] / sum);
    }
}
