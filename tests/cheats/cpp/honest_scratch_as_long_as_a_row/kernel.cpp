#include <cmath>
#include <vector>

void layer_norm(const float* x, float* y, int rows, int cols) {
    float few[512];
    std::vector<float> many(cols > 512 ? cols : 0);
    float* apart = cols > 512 ? many.data() : few;
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        double sum = 0.0, squares = 0.0;
        for (int col = 0; col < cols; ++col) sum += in[col];
        const double mean = sum / cols;
        for (int col = 0; col < cols; ++col) {
            const double difference = in[col] - mean;
            apart[col] = static_cast<float>(difference);
            squares += difference * difference;
        }
        const double scale = 1.0 / std::sqrt(squares / cols + 1e-10);
        for (int col = 0; col < cols; ++col)
            y[row * cols + col] = static_cast<float>(apart[col] * scale);
    }
}
