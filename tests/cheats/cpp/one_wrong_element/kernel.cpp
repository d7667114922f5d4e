void lift(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
    y[n / 3] += 0.01f;
}
