void lift(const float* x, float* y, int n) {
#if __INCLUDE_LEVEL__ > 0
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
#else
    (void)x, (void)y, (void)n;
#endif
}
