// step 1: a warp a row.
// launch: {"grid": ["cdiv(rows, 8)"], "block": [256]}

extern "C" __global__ void rmsnorm(const float* x, const float* weight, float* y, int rows,
                                   int cols) {
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* from = x + (long long)row * cols;
    float* to = y + (long long)row * cols;

    float squares = 0.0f;
    for (int col = lane; col < cols; col += 32) squares += from[col] * from[col];
    for (int far = 16; far; far /= 2) squares += __shfl_xor_sync(~0u, squares, far);
    float scale = 1.0f / sqrtf(squares / cols + 1e-6f);

    for (int col = lane; col < cols; col += 32) to[col] = from[col] * scale * weight[col];
}
