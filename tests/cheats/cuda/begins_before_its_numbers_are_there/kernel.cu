extern "C" __global__ void parts_of_rows(const float* x, float* parts, int rows, int cols) {
    asm volatile("griddepcontrol.launch_dependents;");
    const int row = blockIdx.x, share = (cols + 31) / 32;
    float sum = 0.0f;
    for (int q = threadIdx.x * share; q < cols && q < (threadIdx.x + 1) * share; ++q)
        sum += x[row * cols + q];
    parts[row * 32 + threadIdx.x] = sum;
}

extern "C" __global__ void row_sum(const float* parts, float* sums, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int q = 0; q < 32; ++q) sum += *const_cast<const volatile float*>(parts + row * 32 + q);
    sums[row] = sum;
}
