extern "C" __global__ void read_twice(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value;
    asm volatile(
        "{ .reg .b64 policy;\n"
        "createpolicy.fractional.L2::evict_last.b64 policy, 1.0;\n"
        "ld.global.L2::cache_hint.f32 %0, [%1], policy; }"
        : "=f"(value)
        : "l"(x + i));
    y[i] = 2.0f * value + 1.0f;
}
