extern "C" __global__ void histogram(const unsigned char* values, int* parts, int n) {
    unsigned place;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    int* own = parts + place % 16 * 256;
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&own[values[i]], 1);
}

extern "C" __global__ void add_up(const int* parts, int* bins) {
    int sum = 0;
    for (int part = 0; part < 16; ++part) sum += parts[part * 256 + threadIdx.x];
    bins[threadIdx.x] = sum;
}
