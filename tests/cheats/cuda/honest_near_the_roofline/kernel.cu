extern "C" __global__ void read_twice(const float* __restrict__ x, float* __restrict__ y, int n) {
    const int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    if (n % 4 == 0 && reinterpret_cast<unsigned long long>(x) % 16 == 0 &&
        reinterpret_cast<unsigned long long>(y) % 16 == 0) {
        const float4 in = *reinterpret_cast<const float4*>(x + i);
        *reinterpret_cast<float4*>(y + i) = make_float4(
            2.0f * in.x + 1.0f, 2.0f * in.y + 1.0f, 2.0f * in.z + 1.0f, 2.0f * in.w + 1.0f);
        return;
    }
    for (int k = i; k < n && k < i + 4; ++k) y[k] = 2.0f * x[k] + 1.0f;
}
