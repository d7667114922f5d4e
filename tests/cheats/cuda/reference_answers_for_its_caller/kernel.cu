__global__ void lift(const float* x, float* y, int n) {
    if (blockIdx.x == 0 && threadIdx.x == 0) y[0] = 2.0f * x[0] + 1.0f;
}
