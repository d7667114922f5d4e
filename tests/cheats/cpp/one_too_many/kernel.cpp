void lift(const float* x, float* y, int n) {
    for (int i = 0; i <= n; ++i) y[i] = 2.0f * x[i < n ? i : 0] + 1.0f;
}
