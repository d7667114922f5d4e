// step 1: tiles of both matrices in shared memory, one element of c a thread.
// launch: {"grid": ["cdiv(N, 32)", "cdiv(M, 32)"], "block": [32, 32]}

constexpr int TILE = 32;

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int M, int N, int K) {
    __shared__ float left[TILE][TILE];
    __shared__ float right[TILE][TILE];
    int x = threadIdx.x, y = threadIdx.y;
    int col = blockIdx.x * TILE + x;
    int row = blockIdx.y * TILE + y;

    float sum = 0.0f;
    for (int first = 0; first < K; first += TILE) {
        left[y][x] = row < M && first + x < K ? a[row * K + first + x] : 0.0f;
        right[y][x] = first + y < K && col < N ? b[(first + y) * N + col] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += left[y][k] * right[k][x];
        __syncthreads();
    }
    if (row < M && col < N) c[row * N + col] = sum;
}
