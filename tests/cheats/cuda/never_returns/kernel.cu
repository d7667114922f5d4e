extern "C" __global__ void lift(const float* x, float* y, int n) {
    for (volatile int q = 0; q < 1; q = 0) {
    }
    y[0] = x[0] + n;
}
