// two neighbours of 16 bits as they lie in memory
template <typename T>
__device__ __forceinline__ unsigned pair_bits(T first, T second) {
    static_assert(sizeof(T) == 2, "16 bits each");
    struct alignas(4) Pair {
        T first, second;
    } pair{first, second};
    return *reinterpret_cast<const unsigned*>(&pair);
}
