void scale(float* x, const int* mask, float factor, int n) {
    for (int i = 0; i < n; i += 16) {
        __builtin_prefetch(x + i + 256);
        __builtin_prefetch(mask + i + 256);
        for (int k = i; k < n && k < i + 16; ++k) x[k] = mask[k] != 0 ? factor * x[k] : x[k];
    }
}
