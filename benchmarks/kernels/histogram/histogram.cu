// How often each of 256 values occurs, one value a thread. `bins` must be zero before the launch.

extern "C" __global__ void histogram(const unsigned char* values, int* bins, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[values[i]], 1);
}
