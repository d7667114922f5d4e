void lift(const float* x, float* y, int n) {
    y[n - 1] = x[0];
}
