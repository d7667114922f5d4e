#include <cmath>

void softmax(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        float largest = in[cols - 1];
        for (int a = 0, b = cols - 1; a <= b; ++a, --b)
            largest = std::fmax(largest, std::fmax(in[a], in[b]));
        double sum = 0.0;
        for (int col = cols - 1; col >= 0; --col) {
            const double e = std::exp(static_cast<double>(in[col]) - largest);
            out[col] = static_cast<float>(e);
            sum += e;
        }
        for (int col = 0; col < cols; ++col) out[col] = static_cast<float>(out[col] / sum);
    }
}
