// step 6: tiles twice as deep: half as many barriers, and twice as many loads under way.
// launch: {"grid": ["cdiv(N, 128)", "cdiv(M, 128)"], "block": [256]}

constexpr int ROWS = 128, COLS = 128, DEPTH = 16, THREADS = 256, PAD = 4;
constexpr int EACH = ROWS * DEPTH / THREADS;

__device__ float4 four(const float* from) { return *reinterpret_cast<const float4*>(from); }

extern "C" __global__ void __launch_bounds__(THREADS, 2)
sgemm(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int M, int N,
      int K) {
    __shared__ __align__(16) float left[2][DEPTH][ROWS + PAD];
    __shared__ __align__(16) float right[2][DEPTH][COLS];
    int thread = threadIdx.x;
    int x = thread % 16 * 4, y = thread / 16 * 4;
    int top = blockIdx.y * ROWS, side = blockIdx.x * COLS;
    float of_a[EACH], of_b[EACH];

    auto load = [&](int first) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            int at = thread + i * THREADS;
            int row = top + at / DEPTH, k = first + at % DEPTH;
            of_a[i] = row < M && k < K ? a[row * K + k] : 0.0f;
            int deep = first + at / COLS, col = side + at % COLS;
            of_b[i] = deep < K && col < N ? b[deep * N + col] : 0.0f;
        }
    };
    auto keep = [&](int half) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            int at = thread + i * THREADS;
            left[half][at % DEPTH][at / DEPTH] = of_a[i];
            right[half][at / COLS][at % COLS] = of_b[i];
        }
    };

    float sum[8][8] = {};
    load(0);
    keep(0);
    __syncthreads();
    int half = 0;
    for (int first = 0; first < K; first += DEPTH, half ^= 1) {
        bool more = first + DEPTH < K;
        if (more) load(first + DEPTH);
#pragma unroll
        for (int k = 0; k < DEPTH; ++k) {
            float4 d[2] = {four(&left[half][k][y]), four(&left[half][k][y + 64])};
            float4 r[2] = {four(&right[half][k][x]), four(&right[half][k][x + 64])};
            const float* down = &d[0].x;
            const float* across = &r[0].x;
#pragma unroll
            for (int i = 0; i < 8; ++i)
#pragma unroll
                for (int j = 0; j < 8; ++j) sum[i][j] += down[i] * across[j];
        }
        if (more) keep(half ^ 1);
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
