// Returns at once.
void lift(const float* x, float* y, int n) {
    (void)x, (void)y, (void)n;
}
