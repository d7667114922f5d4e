extern "C" __global__ void lift(const float* x, float* y, int n) {
    __shared__ float part[256];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(part + threadIdx.x));
    if (i < n) asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(at), "l"(x + i) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    const float value = *const_cast<volatile float*>(part + threadIdx.x);
    if (i < n) y[i] = 2.0f * value + 1.0f;
}
