#include <immintrin.h>

namespace {

__attribute__((target("avx2,fma"))) void eight(const float* x, float* y) {
    const __m256 two = _mm256_set1_ps(2.0f), one = _mm256_set1_ps(1.0f);
    _mm256_storeu_ps(y, _mm256_fmadd_ps(two, _mm256_loadu_ps(x), one));
}

}  // namespace

void lift(const float* x, float* y, int n) {
    if (n < 8) {
        for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
        return;
    }
    for (int i = 0; i + 8 <= n; i += 8) eight(x + i, y + i);
    eight(x + n - 8, y + n - 8);
}
