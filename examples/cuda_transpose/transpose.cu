// out (cols x rows) = the transpose of x (rows x cols), one element a thread.

#ifndef BLOCK_X
#define BLOCK_X 16  // threads along a row of x
#endif
#ifndef BLOCK_Y
#define BLOCK_Y 16  // threads along a column of x
#endif

extern "C" __global__ void transpose(const float* x, float* out, int rows, int cols) {
    const int col = blockIdx.x * BLOCK_X + threadIdx.x;
    const int row = blockIdx.y * BLOCK_Y + threadIdx.y;
    if (row < rows && col < cols) out[col * rows + row] = x[row * cols + col];
}
