// How often each of 256 values occurs. `bins` must be zero before the launch.

#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 1
#endif

extern "C" __global__ void histogram(const unsigned char* values, int* bins, int n) {
    const int first = blockIdx.x * BLOCK * ITEMS_PER_THREAD + threadIdx.x;
    for (int k = 0; k < ITEMS_PER_THREAD; ++k) {
        const int i = first + k * BLOCK;
        if (i < n) atomicAdd(&bins[values[i]], 1);
    }
}
