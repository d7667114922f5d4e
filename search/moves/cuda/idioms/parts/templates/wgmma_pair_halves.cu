// two neighbours of 16 bits as they lie in memory
template <typename Half>
__device__ __forceinline__ unsigned pair_bits(Half first, Half second) {
    static_assert(sizeof(Half) == 2, "16 bits each");
    const Half both[2] = {first, second};
    unsigned bits;
    memcpy(&bits, both, sizeof bits);
    return bits;
}
