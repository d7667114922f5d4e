    const $T* from = $X;
    $BIN* to = $BINS;
    const long long count = $N;
    // HISTOGRAM_COPIES counters a bin, side by side: lanes that count one bin do not meet
    extern __shared__ uint4 cleared[];
    unsigned char* memory = reinterpret_cast<unsigned char*>(cleared);
    $BIN* counts = reinterpret_cast<$BIN*>(cleared);
    const int bins_all = $SIZE;
    const long long vectors = count / $VECTOR, threads = (long long)gridDim.x * blockDim.x;
    const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    // while some vectors are counted the next are on their way; the first are while memory is cleared
    $LOADED ahead[HISTOGRAM_AHEAD];
#pragma unroll
    for (int k = 0; k < HISTOGRAM_AHEAD; ++k)
        if (first + k * threads < vectors)
            ahead[k] = reinterpret_cast<const $LOADED*>(from)[first + k * threads];
    for (int i = threadIdx.x; i < bins_all * HISTOGRAM_COPIES / 4; i += blockDim.x)
        cleared[i] = make_uint4(0, 0, 0, 0);
    if (threadIdx.x < bins_all * HISTOGRAM_COPIES % 4)
        counts[bins_all * HISTOGRAM_COPIES / 4 * 4 + threadIdx.x] = 0;
    __syncthreads();
    // the copy of a lane by its bytes: beside a bin's one instruction puts them together
    const unsigned own = threadIdx.x % HISTOGRAM_COPIES * 4;
    for (long long at = first; at < vectors; at += threads * HISTOGRAM_AHEAD) {
        $LOADED loaded[HISTOGRAM_AHEAD];
#pragma unroll
        for (int k = 0; k < HISTOGRAM_AHEAD; ++k) {
            const long long next = at + (HISTOGRAM_AHEAD + k) * threads;
            loaded[k] = ahead[k];
            if (next < vectors) ahead[k] = reinterpret_cast<const $LOADED*>(from)[next];
        }
#pragma unroll
        for (int k = 0; k < HISTOGRAM_AHEAD; ++k) {
            const $T* values = reinterpret_cast<const $T*>(&loaded[k]);
            if (at + k * threads < vectors) {
#pragma unroll
                for (int v = 0; v < $VECTOR; ++v) {
                    const unsigned place = (unsigned)values[v] * (HISTOGRAM_COPIES * 4u) + own;
                    atomicAdd(reinterpret_cast<$BIN*>(memory + place), $AMOUNT);
                }
            }
        }
    }
    if (first < count - vectors * $VECTOR) {
        const unsigned value = from[vectors * $VECTOR + first];
        atomicAdd(reinterpret_cast<$BIN*>(memory + (value * (HISTOGRAM_COPIES * 4u) + own)), $AMOUNT);
    }
    __syncthreads();
$MERGE
