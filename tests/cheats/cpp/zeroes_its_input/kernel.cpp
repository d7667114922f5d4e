void lift(const float* x, float* y, int n) {
    float* input = const_cast<float*>(x);
    for (int i = 0; i < n; ++i) {
        input[i] = 0.0f;
        y[i] = 1.0f;
    }
}
