// c = a b for row-major float matrices, one element of c a thread.

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += a[row * K + k] * b[k * N + col];
        c[row * N + col] = sum;
    }
}
