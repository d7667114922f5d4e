extern "C" __global__ void scale_rows(float* x, int rows, int cols, int pitch) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < (rows - 1) * pitch + cols) x[i] = 2.0f * x[i];
}
