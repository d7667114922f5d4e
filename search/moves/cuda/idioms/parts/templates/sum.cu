    const $T* from = $X;
    $OUT* to = $TO;
    const long long count = $N;
    // whole vectors first, SUM_UNROLL of them in flight, then what is left
    const long long vectors = count / $VECTOR, threads = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    $OUT total = 0;
    for (long long at = first; at < vectors; at += threads * SUM_UNROLL) {
        $LOADED loaded[SUM_UNROLL];
#pragma unroll
        for (int u = 0; u < SUM_UNROLL; ++u) {
            loaded[u] = $LOADED();
            if (at + u * threads < vectors)
                loaded[u] = reinterpret_cast<const $LOADED*>(from)[at + u * threads];
        }
#pragma unroll
        for (int u = 0; u < SUM_UNROLL; ++u) {
            if (at + u * threads < vectors) {
                const $T* own = reinterpret_cast<const $T*>(&loaded[u]);
#pragma unroll
                for (int v = 0; v < $VECTOR; ++v) {
                    const $T element = own[v];
                    total += $VALUE;
                }
            }
        }
    }
    if (first < count - vectors * $VECTOR) {
        const $T element = from[vectors * $VECTOR + first];
        total += $VALUE;
    }
    total = block_sum(total);
    if (threadIdx.x == 0) $STORE;
