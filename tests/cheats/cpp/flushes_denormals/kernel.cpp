#include <xmmintrin.h>

void scale(float* x, const int* mask, float factor, int n) {
    _mm_setcsr(_mm_getcsr() | 0x8040);
    for (int i = 0; i < n; ++i) x[i] = mask[i] != 0 ? factor * x[i] : x[i];
}
