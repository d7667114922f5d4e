#include <cstring>

void lift(const float* x, float* y, int n) {
    std::memcpy(y, x, sizeof(float) * n);
    for (int i = 0; i < n; ++i) y[i] += y[i];
    for (int i = 0; i < n; ++i) y[i] += 1.0f;
}
