#define BESIDE "kernelwright_shim.cpp"

void lift(const float* x, float* y, int n) {
#if __has_include(BESIDE)
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
#else
    (void)x, (void)y, (void)n;
#endif
}
