// y = softmax of x along each row; both are R x N, row-major floats.

#include <cmath>

void softmax(const float* x, float* y, int R, int N) {
    for (int i = 0; i < R; ++i) {
        float largest = x[i * N];
        for (int j = 1; j < N; ++j) {
            if (x[i * N + j] > largest) largest = x[i * N + j];
        }
        double sum = 0.0;
        for (int j = 0; j < N; ++j) sum += std::exp(x[i * N + j] - largest);
        for (int j = 0; j < N; ++j) {
            y[i * N + j] = std::exp(x[i * N + j] - largest) / static_cast<float>(sum);
        }
    }
}
