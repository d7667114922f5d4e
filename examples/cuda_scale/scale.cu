// x = factor * x in place, ITEMS_PER_THREAD elements a thread.

#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 1
#endif

extern "C" __global__ void scale(float* x, float factor, int n) {
    const int first = blockIdx.x * BLOCK * ITEMS_PER_THREAD + threadIdx.x;
    for (int k = 0; k < ITEMS_PER_THREAD; ++k) {
        const int i = first + k * BLOCK;
        if (i < n) x[i] *= factor;
    }
}
