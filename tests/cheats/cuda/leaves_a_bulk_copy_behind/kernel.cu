extern "C" __global__ void lift(const float* x, float* y, int n) {
    __shared__ __align__(128) float part[256];
    const int first = blockIdx.x * 256, i = first + threadIdx.x;
    const bool whole = first + 256 <= n;
    const float value = i < n ? 2.0f * x[i] + 1.0f : 0.0f;
    if (!whole) {
        if (i < n) y[i] = value;
        return;
    }
    part[threadIdx.x] = value;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(part));
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;"
                     :: "l"(y + first), "r"(at) : "memory");
    }
}
