#include <immintrin.h>

#include <cstdint>

void lift(const float* x, float* y, int n) {
    int i = 0;
    while (i < n && reinterpret_cast<std::uintptr_t>(y + i) % 16) {
        y[i] = 2.0f * x[i] + 1.0f;
        ++i;
    }
    const __m128 two = _mm_set1_ps(2.0f), one = _mm_set1_ps(1.0f);
    for (; i + 4 <= n; i += 4)
        _mm_stream_ps(y + i, _mm_add_ps(_mm_mul_ps(two, _mm_loadu_ps(x + i)), one));
    for (; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
    _mm_sfence();
    _mm_mfence();
}
