void lift(const float* x, float* y, int n) {
    __builtin_memcpy(y, x, sizeof(float) * n);
}
