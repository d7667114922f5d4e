void scale(float* x, const int* mask, float factor, int n) {
    for (int i = 0; i < n; ++i) {
        if (mask[i] == 0) continue;
        x[i] *= factor;
    }
}
