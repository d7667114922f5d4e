void lift(const float* x, float* y, int n) {
    static const float kFactors[4] = {2.0f, 2.0f, 2.0f, 2.0f};
    static constexpr float kShift = 1.0f;
    for (int i = 0; i < n; ++i) y[i] = kFactors[i & 3] * x[i] + kShift;
}
