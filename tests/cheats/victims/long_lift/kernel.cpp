// y = 2 x + 1 by 32 additions, each of which waits for the one before it: over 2 ms a call.
void lift(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) {
        float sum = 1.0f;
        for (int r = 0; r < 32; ++r) sum = sum + 0.0625f * x[i];
        y[i] = sum;
    }
}
