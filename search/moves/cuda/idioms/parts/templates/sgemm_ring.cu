    $EPILOGUE
    const float* a_from = $A;
    const float* b_from = $B;
    float* c_to = $C;
    const int m_size = $M, n_size = $N, k_size = $K;
    // rows that begin at multiples of 16 bytes
    const bool ab_whole = $AB_WHOLE, c_whole = $C_WHOLE;
    // A block computes TILE_M x TILE_N of $C from TILE_K columns of $A and rows of $B at a time. Tiles
    // lie in a ring of stages in shared memory: while one is multiplied the next ones are copied to
    // the others, past registers. A warp has 64 x 64 of $C, a thread 8 rows of 4 x 4 columns.
    constexpr int OWN = 16, WARPS_N = TILE_N / 64, THREADS = TILE_M / 64 * WARPS_N * 32;
    constexpr int A_LOADS = TILE_M * TILE_K / 4 / THREADS, B_LOADS = TILE_K * TILE_N / 4 / THREADS;
    constexpr int A_ROWS = THREADS / (TILE_K / 4), B_ROWS = THREADS / (TILE_N / 4);
    static_assert(TILE_M % 64 == 0 && TILE_N % 64 == 0 && TILE_K % 4 == 0, "whole warps");
    static_assert(A_LOADS * THREADS * 4 == TILE_M * TILE_K, "whole loads of a tile of $A");
    static_assert(B_LOADS * THREADS * 4 == TILE_K * TILE_N, "whole loads of a tile of $B");
    constexpr int A_PITCH = TILE_K + 4;  // four floats of eight rows fall on all banks once
    constexpr int STAGE = TILE_M * A_PITCH + TILE_K * TILE_N;
    extern __shared__ float4 ring_of_tiles[];
    float* const ring = reinterpret_cast<float*>(ring_of_tiles);

    const int tile_rows = (m_size + TILE_M - 1) / TILE_M;
    const int tile_columns = (n_size + TILE_N - 1) / TILE_N;
    // tiles in groups of GROUP rows, so that blocks that run together share operands in L2
    const unsigned number = blockIdx.x$OF_BATCH;
    const int in_group = GROUP * tile_columns, group = number / in_group;
    const int group_rows = min(GROUP, tile_rows - group * GROUP);
    const int m_first = (group * GROUP + number % in_group % group_rows) * TILE_M;
    const int n_first = number % in_group / group_rows * TILE_N;
$BATCH
    const int a_row = threadIdx.x / (TILE_K / 4), a_k = threadIdx.x % (TILE_K / 4) * 4;
    const int b_row = threadIdx.x / (TILE_N / 4), b_n = threadIdx.x % (TILE_N / 4) * 4;
    const float* a_at = a_from + ($INDEX)(m_first + a_row) * k_size + a_k;
    const float* b_at = b_from + ($INDEX)b_row * n_size + n_first + b_n;
    auto fetch = [&](float* stage, int k_first) {
        float* a_to = stage + a_row * A_PITCH + a_k;
        float* b_to = stage + TILE_M * A_PITCH + b_row * TILE_N + b_n;
        // four neighbours at once or one by one, 0 in place of those that do not exist
        auto copy = [&](auto at_once) {
            constexpr int WIDTH = sizeof(at_once) / sizeof(float);
#pragma unroll
            for (int i = 0; i < A_LOADS; ++i) {
                const int left = m_first + a_row + i * A_ROWS < m_size ? k_size - k_first - a_k : 0;
#pragma unroll
                for (int e = 0; e < 4; e += WIDTH)
                    __pipeline_memcpy_async(a_to + i * A_ROWS * A_PITCH + e,
                                            a_at + ($INDEX)(i * A_ROWS) * k_size + e,
                                            sizeof(at_once), left > e ? 0 : sizeof(at_once));
            }
#pragma unroll
            for (int i = 0; i < B_LOADS; ++i) {
                const int left = k_first + b_row + i * B_ROWS < k_size ? n_size - n_first - b_n : 0;
#pragma unroll
                for (int e = 0; e < 4; e += WIDTH)
                    __pipeline_memcpy_async(b_to + i * B_ROWS * TILE_N + e,
                                            b_at + ($INDEX)(i * B_ROWS) * n_size + e,
                                            sizeof(at_once), left > e ? 0 : sizeof(at_once));
            }
        };
        if (ab_whole)
            copy(float4());
        else
            copy(float());
        a_at += TILE_K;
        b_at += ($INDEX)TILE_K * n_size;
    };

    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int m_own = warp / WARPS_N * 64 + lane / 4, n_own = warp % WARPS_N * 64 + lane % 4 * 4;
    float total[8][OWN] = {};
#pragma unroll
    for (int s = 0; s < RING - 1; ++s) {
        if (s * TILE_K < k_size) fetch(ring + s * STAGE, s * TILE_K);
        __pipeline_commit();
    }
    float* stage = ring;
    float* last = ring + (RING - 1) * STAGE;
    for (int k_first = 0; k_first < k_size; k_first += TILE_K) {
        __pipeline_wait_prior(RING - 2);
        __syncthreads();  // this tile has come for all, and nobody reads the one before any more
        const int k_next = k_first + (RING - 1) * TILE_K;
        if (k_next < k_size) fetch(last, k_next);
        __pipeline_commit();
        const float* a_tile = stage + m_own * A_PITCH;
        const float* b_tile = stage + TILE_M * A_PITCH + n_own;
#pragma unroll
        for (int k = 0; k < TILE_K; k += 4) {
            float a_own[8][4];
#pragma unroll
            for (int i = 0; i < 8; ++i)
                *reinterpret_cast<float4*>(a_own[i]) =
                    *reinterpret_cast<const float4*>(a_tile + i * 8 * A_PITCH + k);
#pragma unroll
            for (int depth = 0; depth < 4; ++depth) {
                float b_own[OWN];
#pragma unroll
                for (int j = 0; j < OWN; j += 4)
                    *reinterpret_cast<float4*>(b_own + j) =
                        *reinterpret_cast<const float4*>(b_tile + (k + depth) * TILE_N + j * 4);
#pragma unroll
                for (int i = 0; i < 8; ++i) {
#pragma unroll
                    for (int j = 0; j < OWN; ++j) total[i][j] += a_own[i][depth] * b_own[j];
                }
            }
        }
        last = stage;
        stage = stage == ring + (RING - 1) * STAGE ? ring : stage + STAGE;
    }
#pragma unroll
    for (int i = 0; i < 8; ++i) {
        const int m = m_first + m_own + i * 8;
        if (m >= m_size) continue;
#pragma unroll
        for (int j = 0; j < OWN; j += 4) {
            const int n = n_first + n_own + j * 4;
            if (n + 3 < n_size && c_whole) {
                float4 four;
                four.x = epilogue(total[i][j], m, n);
                four.y = epilogue(total[i][j + 1], m, n + 1);
                four.z = epilogue(total[i][j + 2], m, n + 2);
                four.w = epilogue(total[i][j + 3], m, n + 3);
                *reinterpret_cast<float4*>(&c_to[($INDEX)m * n_size + n]) = four;
            } else {
#pragma unroll
                for (int e = 0; e < 4; ++e)
                    if (n + e < n_size)
                        c_to[($INDEX)m * n_size + n + e] = epilogue(total[i][j + e], m, n + e);
            }
        }
    }
