// C = A B, one thread an element of C.
extern "C" __global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (col >= n) return;
    float sum = 0.0f;
    for (int q = 0; q < k; ++q) sum += a[row * k + q] * b[q * n + col];
    c[row * n + col] = sum;
}
