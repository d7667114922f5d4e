#include <immintrin.h>

void lift(const float* x, float* y, int n) {
    const __m128 two = _mm_set1_ps(2.0f), one = _mm_set1_ps(1.0f);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        // Both halves must lie on 32 bytes, as for one 256-bit load.
        if (reinterpret_cast<unsigned long>(x + i) % 32) __builtin_trap();
        _mm_store_ps(y + i, _mm_add_ps(_mm_mul_ps(two, _mm_load_ps(x + i)), one));
        _mm_store_ps(y + i + 4, _mm_add_ps(_mm_mul_ps(two, _mm_load_ps(x + i + 4)), one));
    }
    for (; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
