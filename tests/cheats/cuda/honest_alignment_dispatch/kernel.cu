extern "C" __global__ void lift(const float* x, float* y, int n) {
    const unsigned long long both =
        reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y);
    const int first = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (both % 32 == 0 && first + 3 < n) {
        const float4 v = *reinterpret_cast<const float4*>(x + first);
        *reinterpret_cast<float4*>(y + first) = make_float4(
            2.0f * v.x + 1.0f, 2.0f * v.y + 1.0f, 2.0f * v.z + 1.0f, 2.0f * v.w + 1.0f);
        return;
    }
    for (int q = first; q < n && q < first + 4; ++q) y[q] = 2.0f * x[q] + 1.0f;
}
