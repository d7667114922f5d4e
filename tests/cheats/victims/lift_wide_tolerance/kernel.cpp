// y = 2 x + 1 by eight additions, each of which waits for the one before it.
void lift(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) {
        float sum = 1.0f;
        for (int r = 0; r < 8; ++r) sum = sum + 0.25f * x[i];
        y[i] = sum;
    }
}
