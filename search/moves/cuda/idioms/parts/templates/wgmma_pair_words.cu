// two neighbours at once
template <typename Word>
__device__ __forceinline__ void store_pair(Word* to, Word first, Word second) {
    struct alignas(2 * sizeof(Word)) Pair {
        Word first, second;
    };
    *reinterpret_cast<Pair*>(to) = Pair{first, second};
}
