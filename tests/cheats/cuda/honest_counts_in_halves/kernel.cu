extern "C" __global__ void histogram(const unsigned char* values, int* bins, int n) {
    __shared__ unsigned counts[128];
    if (threadIdx.x < 128) counts[threadIdx.x] = 0;
    __syncthreads();
    const int last = min(n, (blockIdx.x + 1) * 2048);
    for (int i = blockIdx.x * 2048 + threadIdx.x; i < last; i += 256)
        atomicAdd(&counts[values[i] / 2], 1u << values[i] % 2 * 16);
    __syncthreads();
    const unsigned count = counts[threadIdx.x / 2] >> threadIdx.x % 2 * 16 & 65535;
    if (count) atomicAdd(&bins[threadIdx.x], static_cast<int>(count));
}
