    $EPILOGUE
    const $T* a_from = $A;
    const $T* b_from = $B;
    $OUT* c_to = $C;
    const int m_size = $M, n_size = $N, k_size = $K;
    // One warpgroup brings tiles of both factors by TMA into a ring of WGMMA_STAGES; two others
    // multiply them, 64 x $TILE_N of the output's 128 x $TILE_N each. Blocks stay for many tiles.
    constexpr int WGMMA_M = 128, WGMMA_K = 64, WGMMA_CONSUMERS = 2;
    constexpr unsigned WGMMA_A_BYTES = WGMMA_M * WGMMA_K * 2, WGMMA_B_BYTES = WGMMA_K * $TILE_N * 2;
    const int tile_rows = (m_size + WGMMA_M - 1) / WGMMA_M;
    const int tile_columns = (n_size + $TILE_N - 1) / $TILE_N;
    const int tiles = tile_rows * tile_columns, steps = (k_size + WGMMA_K - 1) / WGMMA_K;
    // tiles in groups of GROUP rows, so that blocks that run together share operands in L2
    auto tile_at = [&](int number, int& m_first, int& n_first) {
        const int in_group = GROUP * tile_columns, group = number / in_group;
        const int group_rows = min(GROUP, tile_rows - group * GROUP);
        m_first = (group * GROUP + number % in_group % group_rows) * WGMMA_M;
        n_first = number % in_group / group_rows * $TILE_N;
    };
    if (!($ALIGNED)) {  // rows that TMA cannot address: right, and slow
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            int m_first, n_first;
            tile_at(tile, m_first, n_first);
            for (int at = threadIdx.x; at < WGMMA_M * $TILE_N; at += blockDim.x) {
                const int m = m_first + at / $TILE_N, n = n_first + at % $TILE_N;
                if (m >= m_size || n >= n_size) continue;
                float total = 0.0f;
                for (int k = 0; k < k_size; ++k)
                    total += (float)a_from[(long long)m * k_size + k] * (float)b_from[$B_AT];
                c_to[(long long)m * n_size + n] = epilogue(total, m, n);
            }
        }
        return;
    }

    extern __shared__ unsigned char wgmma_room[];
    alignas(8) __shared__ unsigned long long wgmma_full[WGMMA_STAGES], wgmma_empty[WGMMA_STAGES];
    // tiles of 128-byte rows with the 128-byte swizzle begin at multiples of 1024
    const unsigned room = (wgmma_address(wgmma_room) + 1023u) & ~1023u;
    const unsigned full = wgmma_address(wgmma_full), empty = wgmma_address(wgmma_empty);
    if (threadIdx.x == 0) {
        for (int s = 0; s < WGMMA_STAGES; ++s) {
            barrier_init(full + 8 * s, 1);  // the producer's arrival, and the bytes
            // an arrival a warp: what one has waited for, another may still be reading
            barrier_init(empty + 8 * s, 4 * WGMMA_CONSUMERS);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    }
    __syncthreads();

    int stage = 0;
    unsigned round = 0;  // parity of the ring's round
    auto advance = [&] {
        if (++stage == WGMMA_STAGES) {
            stage = 0;
            round ^= 1;
        }
    };
    const int warpgroup = threadIdx.x / 128;
    if (warpgroup == WGMMA_CONSUMERS) {  // the producer
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == WGMMA_CONSUMERS * 128) {
            for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
                int m_first, n_first;
                tile_at(tile, m_first, n_first);
                for (int step = 0; step < steps; ++step) {
                    // a ring that was never full is empty: the phase before the first is over
                    barrier_wait(empty + 8 * stage, round ^ 1);
                    const unsigned bar = full + 8 * stage, k = step * WGMMA_K;
                    const unsigned a_tile = room + stage * (WGMMA_A_BYTES + WGMMA_B_BYTES);
                    barrier_expect(bar, WGMMA_A_BYTES + WGMMA_B_BYTES);
                    tensor_load(a_tile, &$A_MAP, k, m_first, bar);
                    $LOAD_B
                    advance();
                }
            }
        }
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const int lane = threadIdx.x % 32, warp = threadIdx.x % 128 / 32;
        for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
            int m_first, n_first, before = 0;
            tile_at(tile, m_first, n_first);
            float d[$TILE_N / 2];
            for (int step = 0; step < steps; ++step) {
                barrier_wait(full + 8 * stage, round);
                const unsigned a_tile = room + stage * (WGMMA_A_BYTES + WGMMA_B_BYTES);
                // 64 rows of 128 bytes a consumer
                const unsigned long long a_at = descriptor(a_tile + warpgroup * 8192, 16, 1024);
                const unsigned long long b_at =
                    descriptor(a_tile + WGMMA_A_BYTES, $B_LEADING, 1024);
                asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
#pragma unroll
                for (int k = 0; k < WGMMA_K / 16; ++k)  // 16 along k: 32 bytes of $A's rows
                    wgmma_step(d, a_at + 2 * k, b_at + $B_STEP * k, step > 0 || k > 0);
                asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
                if (step > 0) {  // the group before has read its tiles
                    asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
                    if (lane == 0) barrier_arrive(empty + 8 * before);
                }
                before = stage;
                advance();
            }
            asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (lane == 0) barrier_arrive(empty + 8 * before);
            // the sums are whole only here, for the compiler as well
#pragma unroll
            for (int i = 0; i < $TILE_N / 2; ++i) asm volatile("" : "+f"(d[i])::"memory");
            // a thread has two neighbours of row `lane / 4` in every eight columns, and two of the
            // eighth row after it
            const int m_own = m_first + warpgroup * 64 + warp * 16 + lane / 4;
            const int n_own = n_first + lane % 4 * 2;
$STORE
        }
    }
