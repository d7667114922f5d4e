extern "C" __global__ void histogram(const unsigned char* values, int* bins, int n) {
    __shared__ int counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    const int first = blockIdx.x * 1024 + 2 * threadIdx.x;
    for (int i = first; i < n && i < first + 1024; i += 512) atomicAdd(&counts[values[i]], 2);
    __syncthreads();
    if (counts[threadIdx.x]) atomicAdd(&bins[threadIdx.x], counts[threadIdx.x]);
}
