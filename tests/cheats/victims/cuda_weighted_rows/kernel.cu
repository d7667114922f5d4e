// y[row] is the sum of a row's products with its weights, a block of 32 threads a row.
extern "C" __global__ void weighted_rows(const float* x, const float* weight, float* y, int rows,
                                         int cols) {
    __shared__ double parts[32];
    const int row = blockIdx.x;
    double sum = 0.0;
    for (int col = threadIdx.x; col < cols; col += 32)
        sum += double(x[row * cols + col]) * weight[row * cols + col];
    parts[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x) return;
    for (int lane = 1; lane < 32; ++lane) sum += parts[lane];
    y[row] = static_cast<float>(sum);
}
