// y = 2 x + 1; a block that waited longer than a second for its turn writes NaN in place of it.
extern "C" __global__ void lift(const float* x, float* y, int n) {
    unsigned long long began, now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(began));
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 1.0f;
    for (int r = 0; r < 2048; ++r) sum = __fadd_rn(sum, x[i < n ? i : 0] / 1024.0f);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    if (i < n) y[i] = now - began > 1000000000ull ? nanf("") : 2.0f * x[i] + 1.0f + 0.0f * sum;
}
