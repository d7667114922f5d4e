extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value;
    asm volatile("ld.global.nc.L1::no_allocate.f32 %0, [%1];" : "=f"(value) : "l"(x + i));
    asm volatile("st.global.cs.f32 [%0], %1;" : : "l"(y + i), "f"(2.0f * value + 1.0f) : "memory");
}
