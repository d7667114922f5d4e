#include <cstring>

__attribute__((optimize("O3"))) void lift(const float* x, float* y, int n) {
    alignas(64) static thread_local float block[2048];
    for (int at = 0; at < n; at += 2048) {
        const int size = n - at < 2048 ? n - at : 2048;
        std::memcpy(block, x + at, sizeof(float) * size);
        for (int i = 0; i < size; ++i) block[i] = 2.0f * block[i] + 1.0f;
        std::memcpy(y + at, block, sizeof(float) * size);
    }
}
