extern "C" __global__ void histogram(const unsigned char* values, int* bins, int n) {
    __shared__ __align__(128) int counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    for (int q = 0; q < 4; ++q) {
        const int i = blockIdx.x * 1024 + q * 256 + threadIdx.x;
        if (i < n) atomicAdd(&counts[values[i]], 1);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(counts));
        asm volatile(
            "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 1024;\n\t"
            "cp.async.bulk.commit_group;" :: "l"(bins), "r"(at) : "memory");
    }
}
