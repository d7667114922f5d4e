    $EPILOGUE
    const float* a_from = $A;
    const float* b_from = $B;
    float* c_to = $C;
    const int m_size = $M, n_size = $N, k_size = $K;
    // rows that begin at multiples of 16 bytes
    const bool a_whole = $A_WHOLE, b_whole = $B_WHOLE, c_whole = $C_WHOLE;
    // A block computes TILE_M x TILE_N of $C from TILE_K columns of $A and rows of $B at a time,
    // which lie twice in shared memory: one tile is multiplied while the next one comes.
    // A warp has 64 x 32 of them, a thread 8 x 8 as four squares of 4 x 4.
    constexpr int THREADS = TILE_M / 64 * (TILE_N / 32) * 32;
    constexpr int A_LOADS = TILE_M * TILE_K / 4 / THREADS, B_LOADS = TILE_K * TILE_N / 4 / THREADS;
    static_assert(TILE_M % 64 == 0 && TILE_N % 32 == 0 && TILE_K % 4 == 0, "whole warps");
    static_assert(A_LOADS * THREADS * 4 == TILE_M * TILE_K, "whole loads of a tile of $A");
    static_assert(B_LOADS * THREADS * 4 == TILE_K * TILE_N, "whole loads of a tile of $B");
    constexpr int A_PITCH = TILE_M + 4;  // $A lies transposed: stores spread over banks
    alignas(16) __shared__ float a_tile[2][TILE_K][A_PITCH];
    alignas(16) __shared__ float b_tile[2][TILE_K][TILE_N];

    const int tile_rows = (m_size + TILE_M - 1) / TILE_M;
    const int tile_columns = (n_size + TILE_N - 1) / TILE_N;
    // tiles in groups of GROUP rows, so that blocks that run together share operands in L2
    const unsigned number = blockIdx.x$OF_BATCH;
    const int in_group = GROUP * tile_columns, group = number / in_group;
    const int group_rows = min(GROUP, tile_rows - group * GROUP);
    const int m_first = (group * GROUP + number % in_group % group_rows) * TILE_M;
    const int n_first = number % in_group / group_rows * TILE_N;
$BATCH
    float4 a_next[A_LOADS], b_next[B_LOADS];
    auto fetch = [&](int k_first) {
#pragma unroll
        for (int i = 0; i < A_LOADS; ++i) {
            const int at = threadIdx.x + i * THREADS, k = k_first + at % (TILE_K / 4) * 4;
            const int m = m_first + at / (TILE_K / 4);
            a_next[i] = load_four(a_from + ($INDEX)m * k_size + k, m < m_size ? k_size - k : 0, a_whole);
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; ++i) {
            const int at = threadIdx.x + i * THREADS, n = n_first + at % (TILE_N / 4) * 4;
            const int k = k_first + at / (TILE_N / 4);
            b_next[i] = load_four(b_from + ($INDEX)k * n_size + n, k < k_size ? n_size - n : 0, b_whole);
        }
    };
    auto put = [&](int stage) {
#pragma unroll
        for (int i = 0; i < A_LOADS; ++i) {
            const int at = threadIdx.x + i * THREADS;
            const int k = at % (TILE_K / 4) * 4, m = at / (TILE_K / 4);
            a_tile[stage][k][m] = a_next[i].x;
            a_tile[stage][k + 1][m] = a_next[i].y;
            a_tile[stage][k + 2][m] = a_next[i].z;
            a_tile[stage][k + 3][m] = a_next[i].w;
        }
#pragma unroll
        for (int i = 0; i < B_LOADS; ++i) {
            const int at = threadIdx.x + i * THREADS;
            *reinterpret_cast<float4*>(&b_tile[stage][at / (TILE_N / 4)][at % (TILE_N / 4) * 4]) =
                b_next[i];
        }
    };

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int m_own = warp / (TILE_N / 32) * 64 + lane / 4 * 4;
    const int n_own = warp % (TILE_N / 32) * 32 + lane % 4 * 4;
    float total[8][8] = {};
    fetch(0);
    put(0);
    __syncthreads();
    for (int k_first = 0, stage = 0; k_first < k_size; k_first += TILE_K, stage ^= 1) {
        const bool more = k_first + TILE_K < k_size;
        if (more) fetch(k_first + TILE_K);
#pragma unroll
        for (int k = 0; k < TILE_K; ++k) {
            float a_own[8], b_own[8];
            *reinterpret_cast<float4*>(a_own) = *reinterpret_cast<float4*>(&a_tile[stage][k][m_own]);
            *reinterpret_cast<float4*>(a_own + 4) = *reinterpret_cast<float4*>(&a_tile[stage][k][m_own + 32]);
            *reinterpret_cast<float4*>(b_own) = *reinterpret_cast<float4*>(&b_tile[stage][k][n_own]);
            *reinterpret_cast<float4*>(b_own + 4) = *reinterpret_cast<float4*>(&b_tile[stage][k][n_own + 16]);
#pragma unroll
            for (int i = 0; i < 8; ++i) {
#pragma unroll
                for (int j = 0; j < 8; ++j) total[i][j] += a_own[i] * b_own[j];
            }
        }
        if (more) put(stage ^ 1);  // nobody reads it since the barrier before
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int m = m_first + m_own + i / 4 * 32 + i % 4;
        if (m >= m_size) continue;
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const int n = n_first + n_own + half * 16;
            if (n + 3 < n_size && c_whole) {
                float4 four;
                four.x = epilogue(total[i][half * 4], m, n);
                four.y = epilogue(total[i][half * 4 + 1], m, n + 1);
                four.z = epilogue(total[i][half * 4 + 2], m, n + 2);
                four.w = epilogue(total[i][half * 4 + 3], m, n + 3);
                *reinterpret_cast<float4*>(&c_to[($INDEX)m * n_size + n]) = four;
            } else {
#pragma unroll
                for (int j = 0; j < 4; ++j)
                    if (n + j < n_size)
                        c_to[($INDEX)m * n_size + n + j] =
                            epilogue(total[i][half * 4 + j], m, n + j);
            }
        }
    }
