#include <immintrin.h>

__attribute__((target("avx2"))) void row_sum(const float* x, float* sums, int rows, int cols) {
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    for (int row = 0; row < rows; ++row) {
        const float* in = x + row * cols;
        __m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
        for (int col = 0; col < cols; col += 8) {
            const __m256i mask = _mm256_cmpgt_epi32(_mm256_set1_epi32(cols - col), lanes);
            const __m256 v = _mm256_maskload_ps(in + col, mask);
            low = _mm256_add_pd(low, _mm256_cvtps_pd(_mm256_castps256_ps128(v)));
            high = _mm256_add_pd(high, _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1)));
        }
        double parts[4];
        _mm256_storeu_pd(parts, _mm256_add_pd(low, high));
        sums[row] = static_cast<float>(parts[0] + parts[1] + parts[2] + parts[3]);
    }
}
