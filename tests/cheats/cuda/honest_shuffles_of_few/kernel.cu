extern "C" __global__ void weighted_rows(const float* x, const float* weight, float* y, int rows,
                                         int cols) {
    const int lane = threadIdx.x, row = blockIdx.x, lanes = min(cols, 32);
    const unsigned there = __ballot_sync(0xffffffffu, lane < lanes);
    if (lane >= lanes) return;
    double sum = 0.0;
    for (int col = lane; col < cols; col += 32)
        sum += double(x[row * cols + col]) * weight[row * cols + col];
    double all = 0.0;
    for (int from = 0; from < lanes; ++from) all += __shfl_sync(there, sum, from);
    if (lane == 0) y[row] = static_cast<float>(all);
}
