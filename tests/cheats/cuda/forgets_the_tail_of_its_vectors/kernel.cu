extern "C" __global__ void lift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (n % 4 != 0) {
        if (i < n) y[i] = 2.0f * x[i] + 1.0f;
        return;
    }
    if (4 * (blockIdx.x + 1) * blockDim.x > n) return;
    const float4 v = reinterpret_cast<const float4*>(x)[i];
    reinterpret_cast<float4*>(y)[i] = make_float4(2.0f * v.x + 1.0f, 2.0f * v.y + 1.0f,
                                                  2.0f * v.z + 1.0f, 2.0f * v.w + 1.0f);
}
