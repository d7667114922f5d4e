// Reductions, a scan and a histogram: shared memory, shuffles, atomics and cub.
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_radix_sort.cuh>

extern "C" __global__ void block_sum(const float* x, float* y, int n) {
    __shared__ float part[256];
    float sum = 0.0f;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) sum += x[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = part[0];
}

extern "C" __global__ void warp_sum(const float4* x, float* y, int n) {
    float sum = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        const float4 v = x[i];
        sum += v.x + v.y + v.z + v.w;
    }
    for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_down_sync(~0u, sum, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(y, sum);
}

extern "C" __global__ void scan(const int* x, int* y) {
    __shared__ int part[512];
    part[threadIdx.x] = x[blockIdx.x * 512 + threadIdx.x];
#pragma unroll 1
    for (int offset = 1; offset < 512; offset *= 2) {
        __syncthreads();
        const int other = threadIdx.x >= offset ? part[threadIdx.x - offset] : 0;
        __syncthreads();
        part[threadIdx.x] += other;
    }
    y[blockIdx.x * 512 + threadIdx.x] = part[threadIdx.x];
}

extern "C" __global__ void histogram(const unsigned char* x, unsigned* bins, int n) {
    __shared__ unsigned mine[256];
    mine[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256)
        atomicAdd(&mine[x[i]], 1u);
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}

extern "C" __global__ void __launch_bounds__(128) cub_sum(const float* x, float* y) {
    using Reduce = cub::BlockReduce<float, 128>;
    __shared__ typename Reduce::TempStorage room;
    const float sum = Reduce(room).Sum(x[blockIdx.x * 128 + threadIdx.x]);
    if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

extern "C" __global__ void __launch_bounds__(128) cub_scan(const int* x, int* y) {
    using Scan = cub::BlockScan<int, 128>;
    __shared__ typename Scan::TempStorage room;
    int mine[4];
    for (int i = 0; i < 4; ++i) mine[i] = x[(blockIdx.x * 128 + threadIdx.x) * 4 + i];
    Scan(room).InclusiveSum(mine, mine);
    for (int i = 0; i < 4; ++i) y[(blockIdx.x * 128 + threadIdx.x) * 4 + i] = mine[i];
}

extern "C" __global__ void __launch_bounds__(64) cub_sort(unsigned* x) {
    using Sort = cub::BlockRadixSort<unsigned, 64, 2>;
    __shared__ typename Sort::TempStorage room;
    unsigned keys[2] = {x[threadIdx.x * 2], x[threadIdx.x * 2 + 1]};
    Sort(room).Sort(keys);
    x[threadIdx.x * 2] = keys[0];
    x[threadIdx.x * 2 + 1] = keys[1];
}
