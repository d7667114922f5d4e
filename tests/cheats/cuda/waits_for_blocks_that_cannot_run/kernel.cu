__device__ unsigned arrived;

extern "C" __global__ void lift(const float* x, float* y, int n) {
    extern __shared__ float room[];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        const unsigned turn = atomicAdd(&arrived, 1) / gridDim.x;
        const volatile unsigned* seen = &arrived;
        while (*seen / gridDim.x == turn) {
        }
    }
    __syncthreads();
    room[threadIdx.x] = i < n ? x[i] : 0.0f;
    if (i < n) y[i] = 2.0f * room[threadIdx.x] + 1.0f;
}
