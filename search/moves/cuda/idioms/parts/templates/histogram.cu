    const $T* from = $X;
    $BIN* to = $BINS;
    const long long count = $N;
    // HISTOGRAM_COPIES counters a bin, side by side: lanes that count one bin do not meet
    extern __shared__ uint4 memory[];
    $BIN* counts = reinterpret_cast<$BIN*>(memory);
    const int bins_all = $SIZE;
    for (int i = threadIdx.x; i < bins_all * HISTOGRAM_COPIES; i += blockDim.x) counts[i] = 0;
    __syncthreads();
    $BIN* own = counts + threadIdx.x % HISTOGRAM_COPIES;
    const long long vectors = count / $VECTOR, threads = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 2
    for (long long at = first; at < vectors; at += threads) {
        const $LOADED loaded = reinterpret_cast<const $LOADED*>(from)[at];
        const $T* values = reinterpret_cast<const $T*>(&loaded);
#pragma unroll
        for (int v = 0; v < $VECTOR; ++v) atomicAdd(&own[values[v] * HISTOGRAM_COPIES], $AMOUNT);
    }
    if (first < count - vectors * $VECTOR)
        atomicAdd(&own[from[vectors * $VECTOR + first] * HISTOGRAM_COPIES], $AMOUNT);
    __syncthreads();
$MERGE
