// C = A B for row-major float matrices: A is M x K, B is K x N, C is M x N.
// A block computes a tile of C, one element a thread, from tiles of A and B in shared memory.

#ifndef TILE
#define TILE 16  // rows and columns of a tile
#endif

extern "C" __global__ void sgemm(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];
    const int row = blockIdx.y * TILE + threadIdx.y;
    const int col = blockIdx.x * TILE + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < K; k += TILE) {
        const int a_col = k + threadIdx.x;
        const int b_row = k + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < M && a_col < K ? A[row * K + a_col] : 0.0f;
        b[threadIdx.y][threadIdx.x] = b_row < K && col < N ? B[b_row * N + col] : 0.0f;
        __syncthreads();
        for (int t = 0; t < TILE; ++t) sum += a[threadIdx.y][t] * b[t][threadIdx.x];
        // nobody may fetch the next tiles while another thread still reads these
        __syncthreads();
    }
    if (row < M && col < N) C[row * N + col] = sum;
}
