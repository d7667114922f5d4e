extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    __shared__ double parts[256];
    const int row = blockIdx.x;
    double sum = 0.0;
    for (int col = threadIdx.x; col < cols; col += 256) sum += x[row * cols + col];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2)
        if (threadIdx.x < half) {
            parts[threadIdx.x] += parts[threadIdx.x + half];
            __syncthreads();
        }
    if (threadIdx.x == 0) sums[row] = static_cast<float>(parts[0]);
}
