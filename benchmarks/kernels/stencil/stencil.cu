// One Jacobi step on a grid whose edge stays as it is, one cell a thread.

extern "C" __global__ void stencil(const float* u, float* out, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= rows || col >= cols) return;

    int i = row * cols + col;
    if (row == 0 || row == rows - 1 || col == 0 || col == cols - 1) {
        out[i] = u[i];
    } else {
        out[i] = 0.25f * (u[i - cols] + u[i + cols] + u[i - 1] + u[i + 1]);
    }
}
