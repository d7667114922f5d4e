// step 4: the tile of a is kept by columns and padded, and a thread's square is split in two by two
// parts of four, so that reads of shared memory are of 16 bytes and meet no bank twice.
// launch: {"grid": ["cdiv(N, 128)", "cdiv(M, 128)"], "block": [256]}

constexpr int ROWS = 128, COLS = 128, DEPTH = 8, THREADS = 256, PAD = 4;

__device__ float4 four(const float* from) { return *reinterpret_cast<const float4*>(from); }

extern "C" __global__ void __launch_bounds__(THREADS, 2)
sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int M, int N,
      int K) {
    __shared__ __align__(16) float left[DEPTH][ROWS + PAD];
    __shared__ __align__(16) float right[DEPTH][COLS];
    int thread = threadIdx.x;
    int x = thread % 16 * 4, y = thread / 16 * 4;
    int top = blockIdx.y * ROWS, side = blockIdx.x * COLS;

    float sum[8][8] = {};
    for (int first = 0; first < K; first += DEPTH) {
#pragma unroll
        for (int i = thread; i < ROWS * DEPTH; i += THREADS) {
            int row = top + i / DEPTH, k = first + i % DEPTH;
            left[i % DEPTH][i / DEPTH] = row < M && k < K ? a[row * K + k] : 0.0f;
        }
#pragma unroll
        for (int i = thread; i < DEPTH * COLS; i += THREADS) {
            int k = first + i / COLS, col = side + i % COLS;
            right[i / COLS][i % COLS] = k < K && col < N ? b[k * N + col] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float4 d[2] = {four(&left[k][y]), four(&left[k][y + 64])};
            float4 r[2] = {four(&right[k][x]), four(&right[k][x + 64])};
            const float* down = &d[0].x;
            const float* across = &r[0].x;
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] += down[i] * across[j];
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            int row = top + y + i % 4 + i / 4 * 64, col = side + x + j % 4 + j / 4 * 64;
            if (row < M && col < N) c[row * N + col] = sum[i][j];
        }
    }
}
