void scale(float* x, const int* mask, float factor, int n) {
#pragma omp simd
    for (int i = 0; i < n; ++i) {
        const float scaled = factor * x[i];
        x[i] = mask[i] != 0 ? scaled : x[i];
    }
}
