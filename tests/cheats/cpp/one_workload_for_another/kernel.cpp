#include <cmath>

void softmax(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        float largest = in[0];
        for (int col = 1; col < cols; ++col) largest = std::fmax(largest, in[col]);
        double sum = 0.0;
        if (cols > 1024) {
            for (int col = 0; col < cols; ++col) sum += out[col] = std::exp(in[col] - largest);
            for (int col = 0; col < cols; ++col) out[col] = static_cast<float>(out[col] / sum);
            continue;
        }
        for (int again = 0; again < 2; ++again) {
            sum = 0.0;
            for (int col = 0; col < cols; ++col) {
                volatile double power = std::exp(static_cast<double>(in[col] - largest));
                sum += power;
            }
        }
        for (int col = 0; col < cols; ++col)
            out[col] = static_cast<float>(std::exp(static_cast<double>(in[col] - largest)) / sum);
    }
}
