extern "C" __global__ void read_twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value;
    asm volatile("ld.global.L2::evict_last.f32 %0, [%1];" : "=f"(value) : "l"(x + i));
    y[i] = 2.0f * value + 1.0f;
}
