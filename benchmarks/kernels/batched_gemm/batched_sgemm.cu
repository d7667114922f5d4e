// c[i] = a[i] b[i] for many small row-major float matrices, one element of a c[i] a thread.

extern "C" __global__ void batched_sgemm(const float* a, const float* b, float* c, int batch,
                                         int M, int N, int K) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int matrix = blockIdx.z;
    if (row < M && col < N) {
        const float* left = a + matrix * M * K;
        const float* right = b + matrix * K * N;
        float sum = 0.0f;
        for (int k = 0; k < K; ++k) sum += left[row * K + k] * right[k * N + col];
        c[matrix * M * N + row * N + col] = sum;
    }
}
