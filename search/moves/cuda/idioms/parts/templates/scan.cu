    const $T* from_all = $X;
    $OUT* to_all = $Y;
    const int columns_all = $COLUMNS;
    const bool whole_rows = $WHOLE;  // they begin at multiples of 16 bytes
    const $T* from = from_all + (long long)blockIdx.x * columns_all;
    $OUT* to = to_all + (long long)blockIdx.x * columns_all;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = SCAN_THREADS / 32;
    __shared__ $SUM of_warps[2][32];  // in turns: one barrier a round is enough
    $SUM before = 0;  // sum of all columns of earlier rounds
    for (int round = 0, first = 0; first < columns_all;
         round ^= 1, first += SCAN_THREADS * SCAN_VECTOR) {
        const int at = first + threadIdx.x * SCAN_VECTOR, left = columns_all - at;
        alignas(16) $T elements[SCAN_VECTOR];
#pragma unroll
        for (int v = 0; v < SCAN_VECTOR; ++v) elements[v] = $T(0);
        move_columns<SCAN_VECTOR>(elements, from + at, left, whole_rows);
        $SUM sums[SCAN_VECTOR], total = 0;
#pragma unroll
        for (int v = 0; v < SCAN_VECTOR; ++v) {
            const $T element = elements[v];
            $EXCLUSIVE
            if (v < left) total += $VALUE;
            $INCLUSIVE
        }
        $SUM through = total;  // over the lanes up to this one
#pragma unroll
        for (int apart = 1; apart < 32; apart *= 2) {
            const $SUM other = __shfl_up_sync(0xffffffffu, through, apart);
            if (lane >= apart) through += other;
        }
        if (lane == 31) of_warps[round][warp] = through;
        __syncthreads();
        $SUM of_warp = lane < warps ? of_warps[round][lane] : 0;
#pragma unroll
        for (int apart = 1; apart < 32; apart *= 2) {
            const $SUM other = __shfl_up_sync(0xffffffffu, of_warp, apart);
            if (lane >= apart) of_warp += other;
        }
        const $SUM earlier_warps = __shfl_sync(0xffffffffu, of_warp, warp == 0 ? 0 : warp - 1);
        $SUM base = __shfl_up_sync(0xffffffffu, through, 1);
        base = before + (warp == 0 ? $SUM(0) : earlier_warps) + (lane == 0 ? $SUM(0) : base);
        before += __shfl_sync(0xffffffffu, of_warp, warps - 1);
        alignas(16) $OUT results[SCAN_VECTOR];
#pragma unroll
        for (int v = 0; v < SCAN_VECTOR; ++v) results[v] = base + sums[v];
        move_columns<SCAN_VECTOR>(to + at, results, left, whole_rows);
    }
