#include <cstdint>

void lift(const float* x, float* y, int n) {
    const auto past = reinterpret_cast<std::uintptr_t>(y) / sizeof(float) % 16;
    int head = static_cast<int>((16 - past) % 16);
    if (head > n) head = n;
    for (int i = 0; i < head; ++i) y[i] = 2.0f * x[i] + 1.0f;
    float* even = static_cast<float*>(__builtin_assume_aligned(y + head, 64));
    const float* in = x + head;
    const int left = n - head;
    if (left > 0)
        for (int i = 0; i < left; ++i) even[i] = 2.0f * in[i] + 1.0f;
}
