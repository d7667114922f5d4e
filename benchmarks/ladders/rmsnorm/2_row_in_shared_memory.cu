// step 2: a block a row that is read once, and kept in shared memory for the second pass.
// launch: {"grid": ["rows"], "block": [256], "shared": "4 * cols"}

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int rows,
                                   int cols) {
    extern __shared__ float kept[];
    __shared__ float of_warp[8];
    const float* from = x + (long long)blockIdx.x * cols;
    float* to = y + (long long)blockIdx.x * cols;

    float squares = 0.0f;
    for (int col = threadIdx.x; col < cols; col += 256) {
        kept[col] = from[col];
        squares += kept[col] * kept[col];
    }
    for (int far = 16; far; far /= 2) squares += __shfl_xor_sync(~0u, squares, far);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0.0f;
    for (int warp = 0; warp < 8; ++warp) squares += of_warp[warp];
    float scale = 1.0f / sqrtf(squares / cols + 1e-6f);

    for (int col = threadIdx.x; col < cols; col += 256) to[col] = kept[col] * scale * weight[col];
}
