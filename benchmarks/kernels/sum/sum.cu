// The sum of an array: a tree in shared memory, then one atomic addition a block.
// `total` must be zero before the launch, and the threads of a block a power of two.

extern "C" __global__ void sum(const float* x, float* total, int n) {
    extern __shared__ float partial[];
    int thread = threadIdx.x;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    partial[thread] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int stride = 1; stride < blockDim.x; stride *= 2) {
        if (thread % (2 * stride) == 0) partial[thread] += partial[thread + stride];
        __syncthreads();
    }
    if (thread == 0) atomicAdd(total, partial[0]);
}
