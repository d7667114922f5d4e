void lift(const float* x, float* y, int n) {
    int i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; ++k) y[i + k] = 2.0f * x[i + k] + 1.0f;
    if (i < n)
        for (int k = n - 8; k < n; ++k) y[k] = 2.0f * x[k] + 1.0f;
}
