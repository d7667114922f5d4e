// out = x + y, ITEMS_PER_THREAD elements a thread.

#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef ITEMS_PER_THREAD
#define ITEMS_PER_THREAD 1
#endif

extern "C" __global__ void vector_add(const float* x, const float* y, float* out, int n) {
    const int first = blockIdx.x * BLOCK * ITEMS_PER_THREAD + threadIdx.x;
    for (int k = 0; k < ITEMS_PER_THREAD; ++k) {
        // BLOCK apart, so that neighbouring threads touch neighbouring elements
        const int i = first + k * BLOCK;
        if (i < n) out[i] = x[i] + y[i];
    }
}
