// step 3: a block a row that is read once into shared memory, and written once.
// launch: {"grid": ["rows"], "block": [256], "shared": "4 * cols"}

__device__ float combined(float mine, bool largest) {
    __shared__ float of_warp[8];
    for (int far = 16; far; far /= 2) {
        float other = __shfl_xor_sync(~0u, mine, far);
        mine = largest ? fmaxf(mine, other) : mine + other;
    }
    __syncthreads();
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
    __syncthreads();
    float all = of_warp[0];
    for (int warp = 1; warp < 8; ++warp) {
        all = largest ? fmaxf(all, of_warp[warp]) : all + of_warp[warp];
    }
    return all;
}

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    extern __shared__ float kept[];
    const float* from = x + (long long)blockIdx.x * cols;
    float* to = y + (long long)blockIdx.x * cols;

    float top = -INFINITY;
    for (int col = threadIdx.x; col < cols; col += 256) {
        kept[col] = from[col];
        top = fmaxf(top, kept[col]);
    }
    top = combined(top, true);

    float sum = 0.0f;
    for (int col = threadIdx.x; col < cols; col += 256) {
        kept[col] = expf(kept[col] - top);
        sum += kept[col];
    }
    float scale = 1.0f / combined(sum, false);
    for (int col = threadIdx.x; col < cols; col += 256) to[col] = kept[col] * scale;
}
