    // a bin's copies, four a read; lanes begin at different ones, which lie in different banks
    constexpr unsigned MERGED = HISTOGRAM_COPIES < 4 ? HISTOGRAM_COPIES : 4;
    constexpr unsigned PARTS = HISTOGRAM_COPIES / MERGED;
    struct alignas(MERGED * 4) Part {
        $BIN of[MERGED];
    };
    const Part* parts = reinterpret_cast<const Part*>(counts);
    for (int bin = threadIdx.x; bin < bins_all; bin += blockDim.x) {
        $BIN total = 0;
        for (unsigned k = 0; k < PARTS; ++k) {
            const Part part = parts[bin * PARTS + (k + bin * PARTS / 8) % PARTS];
#pragma unroll
            for (int copy = 0; copy < MERGED; ++copy) total += part.of[copy];
        }
        if (total != 0) atomicAdd(&to[bin], total);
    }
