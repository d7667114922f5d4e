// Where the largest value of each row lies, the first of equals, one row a thread.

extern "C" __global__ void argmax(const float* x, int* index, int rows, int cols) {
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;

    float best = x[row * cols];
    int place = 0;
    for (int col = 1; col < cols; ++col) {
        float value = x[row * cols + col];
        if (value > best) {
            best = value;
            place = col;
        }
    }
    index[row] = place;
}
