extern "C" __global__ void parts_of_rows(const float* x, double* parts, int rows, int cols) {
    asm volatile("griddepcontrol.launch_dependents;");
    const int row = blockIdx.x, share = (cols + 31) / 32;
    double sum = 0.0;
    for (int q = threadIdx.x * share; q < cols && q < (threadIdx.x + 1) * share; ++q)
        sum += x[row * cols + q];
    parts[row * 32 + threadIdx.x] = sum;
}

extern "C" __global__ void row_sum(const double* parts, float* sums, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    if (row >= rows) return;
    double sum = 0.0;
    for (int q = 0; q < 32; ++q) sum += parts[row * 32 + q];
    sums[row] = static_cast<float>(sum);
}
