// y = softmax of x along each row; both are R x N, row-major floats.
// The defaults below are the textbook passes; each macro changes one thing about them.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#ifndef EXP
#define EXP 0  // 0: std::exp for each element; 1: a polynomial that the compiler can vectorise
#endif
#ifndef KEEP
#define KEEP 0  // 0: e^x is computed for the sum and again for the result; 1: kept in y between
#endif
#ifndef UNROLL
#define UNROLL 1  // independent partial maxima and partial sums
#endif
#ifndef THREADS
#define THREADS 1
#endif

namespace {

#if EXP == 0

float exponential(float x) { return std::exp(x); }

#else

std::uint32_t as_bits(float x) {
    std::uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

float as_float(std::uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

// e^x for x <= 0 to about two units in the last place; zero below -87.
// x = n ln 2 + r with |r| <= ln 2 / 2, so e^x = 2^n e^r, and e^r is a Taylor polynomial.
float exponential(float x) {
    constexpr float ROUND = 12582912.0f;  // 1.5 * 2^23: adding it leaves n in the low bits
    constexpr float LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f;
    const float shifted = x * 1.44269504f + ROUND;
    const float n = shifted - ROUND;
    const float r = (x - n * LN2_HIGH) - n * LN2_LOW;
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const float power = as_float((as_bits(shifted) + 127u) << 23);
    // As a mask, because GCC makes a branch of ?: on floats and then does not vectorise.
    const std::uint32_t mask = x < -87.0f ? 0u : ~0u;
    return as_float(as_bits(p * power) & mask);
}

#endif

float row_max(const float* x, int n) {
    float best[UNROLL];
    std::fill_n(best, UNROLL, x[0]);
    int j = 0;
    for (; j + UNROLL <= n; j += UNROLL) {
        for (int u = 0; u < UNROLL; ++u) best[u] = best[u] < x[j + u] ? x[j + u] : best[u];
    }
    for (; j < n; ++j) best[0] = std::max(best[0], x[j]);
    return *std::max_element(best, best + UNROLL);
}

// The sum of e^(x[j] - largest), in double so that long rows keep their digits; with KEEP the
// terms are left in y.
float sum_of_exponentials(const float* __restrict x, float* __restrict y, int n, float largest) {
    double sums[UNROLL] = {};
    int j = 0;
    for (; j + UNROLL <= n; j += UNROLL) {
        for (int u = 0; u < UNROLL; ++u) {
            const float term = exponential(x[j + u] - largest);
            if (KEEP) y[j + u] = term;
            sums[u] += term;
        }
    }
    for (; j < n; ++j) {
        const float term = exponential(x[j] - largest);
        if (KEEP) y[j] = term;
        sums[0] += term;
    }
    double sum = 0.0;
    for (int u = 0; u < UNROLL; ++u) sum += sums[u];
    return static_cast<float>(sum);
}

void softmax_row(const float* __restrict x, float* __restrict y, int n) {
    const float largest = row_max(x, n);
    const float sum = sum_of_exponentials(x, y, n, largest);
    for (int j = 0; j < n; ++j) y[j] = (KEEP ? y[j] : exponential(x[j] - largest)) / sum;
}

}  // namespace

void softmax(const float* x, float* y, int R, int N) {
#pragma omp parallel for num_threads(THREADS)
    for (int i = 0; i < R; ++i) softmax_row(x + i * N, y + i * N, N);
}
