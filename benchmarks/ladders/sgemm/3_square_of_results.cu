// step 3: eight by eight elements of c a thread, from registers: 16 reads for 64 products.
// launch: {"grid": ["cdiv(N, 128)", "cdiv(M, 128)"], "block": [256]}

constexpr int ROWS = 128, COLS = 128, DEPTH = 8, EACH = 8, THREADS = 256;

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int M, int N, int K) {
    __shared__ float left[ROWS * DEPTH];
    __shared__ float right[DEPTH * COLS];
    int thread = threadIdx.x;
    int x = thread % (COLS / EACH), y = thread / (COLS / EACH);
    int top = blockIdx.y * ROWS, side = blockIdx.x * COLS;

    float sum[EACH][EACH] = {};
    for (int first = 0; first < K; first += DEPTH) {
        for (int i = thread; i < ROWS * DEPTH; i += THREADS) {
            int row = top + i / DEPTH, k = first + i % DEPTH;
            left[i] = row < M && k < K ? a[row * K + k] : 0.0f;
        }
        for (int i = thread; i < DEPTH * COLS; i += THREADS) {
            int k = first + i / COLS, col = side + i % COLS;
            right[i] = k < K && col < N ? b[k * N + col] : 0.0f;
        }
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k) {
            float down[EACH], across[EACH];
            for (int i = 0; i < EACH; ++i) down[i] = left[(y * EACH + i) * DEPTH + k];
            for (int j = 0; j < EACH; ++j) across[j] = right[k * COLS + x * EACH + j];
            for (int i = 0; i < EACH; ++i)
                for (int j = 0; j < EACH; ++j) sum[i][j] += down[i] * across[j];
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
            int row = top + y * EACH + i, col = side + x * EACH + j;
            if (row < M && col < N) c[row * N + col] = sum[i][j];
        }
    }
}
