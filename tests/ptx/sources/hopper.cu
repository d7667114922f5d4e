// Hopper: wgmma, bulk copies, tensor maps, mbarriers, clusters.
#include <cooperative_groups.h>
#include <cuda.h>
#include <cuda/barrier>
#include <cuda/ptx>
#include <cuda_fp16.h>
namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

__device__ void wgmma64x16x16(float (&d)[8], unsigned long long a, unsigned long long b) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7}, %8, %9, p, 1, 1, 0, 0;\n}\n"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7])
        : "l"(a), "l"(b));
}

// One warpgroup, 64 x 16 of C, K in steps of 64: four wgmma a step.
extern "C" __global__ void __launch_bounds__(128)
wgmma_gemm(const uint4* A, const uint4* B, float* C, int steps) {
    __shared__ __align__(1024) uint4 a[512], b[128];
    float d[8] = {};
    const unsigned long long da = __cvta_generic_to_shared(a) >> 4, db = __cvta_generic_to_shared(b) >> 4;
#pragma unroll 1
    for (int s = 0; s < steps; ++s) {
        for (int i = 0; i < 4; ++i) a[i * 128 + threadIdx.x] = A[s * 512 + i * 128 + threadIdx.x];
        b[threadIdx.x] = B[s * 128 + threadIdx.x];
        asm volatile("fence.proxy.async;");
        __syncthreads();
        asm volatile("wgmma.fence.sync.aligned;");
        for (int k = 0; k < 4; ++k) wgmma64x16x16(d, da + k * 2, db + k * 2);
        asm volatile("wgmma.commit_group.sync.aligned;");
        asm volatile("wgmma.wait_group.sync.aligned 0;");
        __syncthreads();
    }
    for (int i = 0; i < 8; ++i) C[threadIdx.x * 8 + i] = d[i];
}

// A tile of 4096 bytes at a time, by one bulk copy, double buffered.
extern "C" __global__ void bulk_sum(const float* x, float* y, int tiles) {
    __shared__ __align__(128) float room[2][1024];
    __shared__ __align__(8) uint64_t full[2];
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full[0], 1);
        ptx::mbarrier_init(&full[1], 1);
        ptx::fence_proxy_async();
    }
    __syncthreads();
    auto fetch = [&](int t) {
        ptx::cp_async_bulk(ptx::space_shared, ptx::space_global, room[t % 2], x + t * 1024, 4096, &full[t % 2]);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full[t % 2], 4096);
    };
    if (threadIdx.x == 0) fetch(0);
    float sum = 0.0f;
#pragma unroll 1
    for (int t = 0; t < tiles; ++t) {
        if (threadIdx.x == 0 && t + 1 < tiles) fetch(t + 1);
        while (!ptx::mbarrier_try_wait_parity(&full[t % 2], (uint32_t)(t / 2 % 2))) {
        }
        for (int i = 0; i < 4; ++i) sum += room[t % 2][i * 256 + threadIdx.x];
        __syncthreads();
    }
    y[threadIdx.x] = sum;
}

extern "C" __global__ void tma_copy(const __grid_constant__ CUtensorMap from,
                                    const __grid_constant__ CUtensorMap to) {
    __shared__ __align__(128) float tile[32][32];
    __shared__ __align__(8) uint64_t full;
    const int at[2] = {(int)blockIdx.x * 32, (int)blockIdx.y * 32};
    if (threadIdx.x == 0) {
        ptx::mbarrier_init(&full, 1);
        ptx::fence_proxy_async();
        ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, &from, at, &full);
        ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &full, 4096);
    }
    __syncthreads();
    while (!ptx::mbarrier_try_wait_parity(&full, 0u)) {
    }
    tile[threadIdx.y][threadIdx.x] *= 2.0f;
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
        ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, &to, at, tile);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
    }
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_sum(const float* x, float* y) {
    namespace cg = cooperative_groups;
    cg::cluster_group cluster = cg::this_cluster();
    __shared__ float mine;
    if (threadIdx.x == 0) mine = x[blockIdx.x];
    cluster.sync();
    if (threadIdx.x == 0) y[blockIdx.x] = mine + *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
    cluster.sync();
}

extern "C" __global__ void library_barrier(const float* x, float* y) {
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier barrier;
    __shared__ float room[128];
    if (threadIdx.x == 0) init(&barrier, 128);
    __syncthreads();
    room[threadIdx.x] = x[threadIdx.x];
    barrier.arrive_and_wait();
    y[threadIdx.x] = room[127 - threadIdx.x];
}
