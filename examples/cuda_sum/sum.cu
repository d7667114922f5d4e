// The sum of an array in two launches: one partial sum a block, then the sum of those.

#ifndef BLOCK
#define BLOCK 256  // threads; a power of two
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 4
#endif

// The sum over all threads of the block; thread 0 has it.
__device__ float sum_of_block(float value) {
    __shared__ float sums[BLOCK];
    sums[threadIdx.x] = value;
    __syncthreads();
    for (int half = BLOCK / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    return sums[0];
}

extern "C" __global__ void sum_blocks(const float* x, float* partial, int n) {
    const int first = blockIdx.x * BLOCK * ITEMS_PER_THREAD + threadIdx.x;
    float sum = 0.0f;
    for (int k = 0; k < ITEMS_PER_THREAD; ++k) {
        const int i = first + k * BLOCK;
        if (i < n) sum += x[i];
    }
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) partial[blockIdx.x] = sum;
}

// Launched with one block.
extern "C" __global__ void sum_all(const float* partial, float* total, int n) {
    float sum = 0.0f;
    for (int i = threadIdx.x; i < n; i += BLOCK) sum += partial[i];
    sum = sum_of_block(sum);
    if (threadIdx.x == 0) *total = sum;
}
