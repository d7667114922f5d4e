// step 2: largest and sum in one pass: where a larger one comes, the sum so far is scaled.
// launch: {"grid": ["cdiv(rows, 8)"], "block": [256]}

extern "C" __global__ void softmax(const float* x, float* y, int rows, int cols) {
    int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    const float* from = x + (long long)row * cols;
    float* to = y + (long long)row * cols;

    float top = -INFINITY, sum = 0.0f;
    for (int col = lane; col < cols; col += 32) {
        float value = from[col];
        float higher = fmaxf(top, value);
        sum = sum * expf(top - higher) + expf(value - higher);
        top = higher;
    }
    for (int far = 16; far; far /= 2) {
        float other = __shfl_xor_sync(~0u, top, far), more = __shfl_xor_sync(~0u, sum, far);
        float higher = fmaxf(top, other);
        // a lane without an element has no sum, and -inf - -inf is none to scale by
        sum = (sum ? sum * expf(top - higher) : 0.0f) + (more ? more * expf(other - higher) : 0.0f);
        top = higher;
    }

    float scale = 1.0f / sum;
    for (int col = lane; col < cols; col += 32) to[col] = expf(from[col] - top) * scale;
}
