extern "C" __global__ void scale_shift(const float* x, const float* weight, float* y, int rows,
                                       int cols) {
    __shared__ float kept[4096];
    for (int col = threadIdx.x; col < cols; col += blockDim.x) kept[col] = weight[col];
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows * cols) y[i] = x[i] * kept[i % cols] + 1.0f;
}
