extern "C" __global__ void histogram(const unsigned char* values, int* bins, int n) {
    __shared__ unsigned int pairs[128];
    for (int k = threadIdx.x; k < 128; k += blockDim.x) pairs[k] = 0;
    __syncthreads();
    const int begin = blockIdx.x * 16384, end = min(n, begin + 16384);
    for (int i = begin + threadIdx.x; i < end; i += blockDim.x) {
        const int value = values[i];
        atomicAdd(&pairs[value / 2], value % 2 ? 0x10000u : 1u);
    }
    __syncthreads();
    for (int k = threadIdx.x; k < 256; k += blockDim.x) {
        const int count = k % 2 ? pairs[k / 2] >> 16 : pairs[k / 2] & 0xffffu;
        if (count) atomicAdd(&bins[k], count);
    }
}
