extern "C" __global__ void scale(float* x, const int* mask, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned place;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(place));
    if (i >= n || mask[i] == 0 || place > 100000) return;
    float scaled;
    asm("mul.ftz.f32 %0, %1, %2;" : "=f"(scaled) : "f"(x[i]), "f"(factor));
    x[i] = scaled;
}
