// two neighbours at once
template <typename T>
__device__ __forceinline__ void store_pair(T* to, T first, T second) {
    struct alignas(2 * sizeof(T)) Pair {
        T first, second;
    };
    *reinterpret_cast<Pair*>(to) = Pair{first, second};
}
