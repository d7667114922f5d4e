// step 2: eight rows of c a thread, so that a value of b is read from shared memory once for eight.
// launch: {"grid": ["cdiv(N, 64)", "cdiv(M, 64)"], "block": [512]}

constexpr int ROWS = 64, COLS = 64, DEPTH = 8, EACH = 8;

extern "C" __global__ void sgemm(const float* a, const float* b, float* c, int M, int N, int K) {
    __shared__ float left[ROWS][DEPTH];
    __shared__ float right[DEPTH][COLS];
    int thread = threadIdx.x;
    int x = thread % COLS, y = thread / COLS;
    int top = blockIdx.y * ROWS, side = blockIdx.x * COLS;

    float sum[EACH] = {};
    for (int first = 0; first < K; first += DEPTH) {
        int row = top + thread / DEPTH, k = first + thread % DEPTH;
        left[thread / DEPTH][thread % DEPTH] = row < M && k < K ? a[row * K + k] : 0.0f;
        right[y][x] = first + y < K && side + x < N ? b[(first + y) * N + side + x] : 0.0f;
        __syncthreads();
        for (int k = 0; k < DEPTH; ++k) {
            float value = right[k][x];
            for (int i = 0; i < EACH; ++i) sum[i] += left[y * EACH + i][k] * value;
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        int row = top + y * EACH + i;
        if (row < M && side + x < N) c[row * N + side + x] = sum[i];
    }
}
