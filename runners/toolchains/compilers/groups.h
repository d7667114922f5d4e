// What kernels use of cooperative groups and of CUB's folds, for reading what a kernel
// computes, never for running it: the library's own go through memory in pieces.
#ifndef KERNELWRIGHT_GROUPS  // the file lies there under several names
#define KERNELWRIGHT_GROUPS

namespace cooperative_groups {
template <typename T = void> struct plus {
    template <typename V> __device__ V operator()(V a, V b) const { return a + b; }
};
template <typename T = void> struct greater {
    __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
    __device__ double operator()(double a, double b) const { return fmax(a, b); }
    __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
template <typename T = void> struct less {
    __device__ float operator()(float a, float b) const { return fminf(a, b); }
    __device__ double operator()(double a, double b) const { return fmin(a, b); }
    __device__ int operator()(int a, int b) const { return a < b ? a : b; }
};
struct thread_block {
    __device__ static void sync() { __syncthreads(); }
    __device__ static unsigned thread_rank() {
        return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    }
    __device__ static unsigned size() { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ static unsigned num_threads() { return blockDim.x * blockDim.y * blockDim.z; }
    __device__ static dim3 group_index() { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
    __device__ static dim3 thread_index() { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
};
template <unsigned N, typename Parent = thread_block> struct thread_block_tile {
    __device__ static void sync() { __syncwarp(); }
    __device__ static unsigned thread_rank() { return thread_block::thread_rank() % N; }
    __device__ static unsigned size() { return N; }
    __device__ static unsigned num_threads() { return N; }
    __device__ static unsigned meta_group_rank() { return thread_block::thread_rank() / N; }
    __device__ static unsigned meta_group_size() { return (thread_block::size() + N - 1) / N; }
    template <typename T> __device__ static T shfl(T v, int from) {
        return __shfl_sync(0xffffffffu, v, from, N);
    }
    template <typename T> __device__ static T shfl_down(T v, unsigned by) {
        return __shfl_down_sync(0xffffffffu, v, by, N);
    }
    template <typename T> __device__ static T shfl_up(T v, unsigned by) {
        return __shfl_up_sync(0xffffffffu, v, by, N);
    }
    template <typename T> __device__ static T shfl_xor(T v, unsigned by) {
        return __shfl_xor_sync(0xffffffffu, v, by, N);
    }
};
__device__ inline thread_block this_thread_block() { return {}; }
__device__ inline void sync(thread_block) { __syncthreads(); }
template <unsigned N> __device__ thread_block_tile<N> tiled_partition(thread_block) { return {}; }
template <unsigned N, typename T, typename F>
__device__ T reduce(thread_block_tile<N>, T v, F f) {
    for (int by = N / 2; by > 0; by /= 2) v = f(v, __shfl_xor_sync(0xffffffffu, v, by, N));
    return v;
}
}  // namespace cooperative_groups

namespace cub {
using Sum = cooperative_groups::plus<>;
using Max = cooperative_groups::greater<>;
using Min = cooperative_groups::less<>;
template <typename T, int N> struct BlockReduce {
    struct TempStorage {
        T parts[N];
    };
    T* parts;
    __device__ BlockReduce(TempStorage& kept) : parts(kept.parts) {}
    template <typename F> __device__ T Reduce(T v, F f) {
        const int me = threadIdx.x;
        parts[me] = v;
        __syncthreads();
        for (int by = 512; by > 0; by /= 2) {
            if (me < by && me + by < N) parts[me] = f(parts[me], parts[me + by]);
            __syncthreads();
        }
        return parts[0];
    }
    __device__ T Sum(T v) { return Reduce(v, cub::Sum()); }
};
template <typename T, int N = 32> struct WarpReduce {
    struct TempStorage {};
    __device__ WarpReduce(TempStorage&) {}
    template <typename F> __device__ T Reduce(T v, F f) {
        return cooperative_groups::reduce(cooperative_groups::thread_block_tile<N>(), v, f);
    }
    __device__ T Sum(T v) { return Reduce(v, cub::Sum()); }
};
}  // namespace cub
#endif
