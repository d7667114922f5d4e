// step 3: four elements at once where rows begin at 16 bytes.
// launch: {"grid": ["rows"], "block": [256], "shared": "4 * cols"}

extern "C" __global__ void rmsnorm(const float* __restrict__ x, const float* __restrict__ weight,
                                   float* __restrict__ y, int rows, int cols) {
    extern __shared__ __align__(16) float kept[];
    __shared__ float of_warp[8];
    const float* from = x + (long long)blockIdx.x * cols;
    float* to = y + (long long)blockIdx.x * cols;
    int fours = cols % 4 == 0 ? cols / 4 : 0;

    float squares = 0.0f;
    for (int i = threadIdx.x; i < fours; i += 256) {
        float4 v = reinterpret_cast<const float4*>(from)[i];
        reinterpret_cast<float4*>(kept)[i] = v;
        squares += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
    }
    for (int col = 4 * fours + threadIdx.x; col < cols; col += 256) {
        kept[col] = from[col];
        squares += kept[col] * kept[col];
    }
    for (int far = 16; far; far /= 2) squares += __shfl_xor_sync(~0u, squares, far);
    if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0.0f;
    for (int warp = 0; warp < 8; ++warp) squares += of_warp[warp];
    float scale = 1.0f / sqrtf(squares / cols + 1e-6f);

    for (int i = threadIdx.x; i < fours; i += 256) {
        float4 v = reinterpret_cast<float4*>(kept)[i];
        float4 w = reinterpret_cast<const float4*>(weight)[i];
        v = {v.x * scale * w.x, v.y * scale * w.y, v.z * scale * w.z, v.w * scale * w.w};
        reinterpret_cast<float4*>(to)[i] = v;
    }
    for (int col = 4 * fours + threadIdx.x; col < cols; col += 256) {
        to[col] = kept[col] * scale * weight[col];
    }
}
