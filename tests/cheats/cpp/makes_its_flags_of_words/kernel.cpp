#include <cmath>

#define WORDS(x) #x
#define QUICK __attribute__((optimize(WORDS(O3), WORDS(fast-math))))

QUICK void layer_norm(const float* x, float* y, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        float* out = y + row * cols;
        double sum = 0.0, square = 0.0;
        for (int col = 0; col < cols; ++col) sum += in[col];
        const double mean = sum / cols;
        for (int col = 0; col < cols; ++col) square += (in[col] - mean) * (in[col] - mean);
        const double scale = 1.0 / std::sqrt(square / cols + 1e-10);
        for (int col = 0; col < cols; ++col) out[col] = static_cast<float>((in[col] - mean) * scale);
    }
}
