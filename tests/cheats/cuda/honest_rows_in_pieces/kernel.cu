extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    __shared__ double parts[256];
    const int row = blockIdx.x;
    double sum = 0.0;
    for (int piece = 0; piece < cols; piece += 2048) {
        float kept[8];
        for (int q = 0; q < 8; ++q) {
            const int col = piece + q * 256 + threadIdx.x;
            kept[q] = col < cols ? x[row * cols + col] : 0.0f;
        }
        for (int q = 0; q < 8; ++q) sum += kept[q];
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[row] = static_cast<float>(parts[0]);
}
