#include <cmath>
#include <vector>

void softmax(const float* x, float* y, int rows, int cols) {
    static thread_local std::vector<double> powers;
    powers.resize(cols);
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float largest = in[0];
        for (int col = 1; col < cols; ++col) largest = in[col] > largest ? in[col] : largest;
        double sum = 0.0;
        for (int col = 0; col < cols; ++col)
            sum += powers[col] = std::exp(static_cast<double>(in[col] - largest));
        for (int col = 0; col < cols; ++col)
            y[row * cols + col] = static_cast<float>(powers[col] / sum);
    }
}
