// step 1: a warp a row, so that neighbours read neighbouring elements.
// launch: {"grid": ["cdiv(rows, 8)"], "block": [256]}

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* from = x + (long long)row * cols;
    float* to = y + (long long)row * cols;

    float top = -INFINITY;
    for (int col = lane; col < cols; col += 32) top = fmaxf(top, from[col]);
    for (int far = 16; far; far /= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, far));

    float sum = 0.0f;
    for (int col = lane; col < cols; col += 32) sum += expf(from[col] - top);
    for (int far = 16; far; far /= 2) sum += __shfl_xor_sync(~0u, sum, far);

    for (int col = lane; col < cols; col += 32) to[col] = expf(from[col] - top) / sum;
}
