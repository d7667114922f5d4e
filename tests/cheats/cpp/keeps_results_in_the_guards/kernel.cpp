void lift(const float* x, float* y, int n) {
    float* table = y + n;
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
    table[8] = x[0];
    table[9] = y[0];
}
