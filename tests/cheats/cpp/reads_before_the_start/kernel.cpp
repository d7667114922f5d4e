#include <cstring>

void lift(const float* x, float* y, int n) {
    float before[64];
    for (int i = 0; i < n; i += 64) {
        std::memcpy(before, x + i - 64, sizeof before);
        asm volatile("" : : "m"(before));
        for (int k = i; k < n && k < i + 64; ++k) y[k] = 2.0f * x[k] + 1.0f;
    }
}
