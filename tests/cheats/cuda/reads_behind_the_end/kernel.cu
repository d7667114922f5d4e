extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    __shared__ float parts[256];
    const int row = blockIdx.x;
    float sum = 0.0f;
    for (int first = 0; first < cols; first += 256) {
        const int col = first + threadIdx.x;
        const volatile float* at = x + row * cols + col;
        const float value = *at;
        if (col < cols) sum += value;
    }
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[row] = parts[0];
}
