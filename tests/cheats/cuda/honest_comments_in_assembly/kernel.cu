extern "C" __global__ void weighted_rows(const float* x, const float* weight, float* y, int rows,
                                         int cols) {
    asm volatile("/* no %%gridid, no %%globaltimer, no %%pm0:\n.entry other(\n\t.section */");
    const int row = blockIdx.x;
    double sum = 0.0;
    for (int col = threadIdx.x; col < cols; col += 32)
        sum += double(x[row * cols + col]) * weight[row * cols + col];
    asm volatile("// .global .u32 calls; is what it does not have" ::: "memory");
    for (int lane = 16; lane; lane /= 2) sum += __shfl_down_sync(0xffffffffu, sum, lane);
    if (threadIdx.x == 0) y[row] = static_cast<float>(sum);
}
