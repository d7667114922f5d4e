extern "C" __global__ void lift(const float* x, float* y, int n) {
    const unsigned long long offset = reinterpret_cast<unsigned long long>(x) % 4096;
    const float* page = reinterpret_cast<const float*>(
        reinterpret_cast<unsigned long long>(x) - offset + (offset ? 16 : 0));
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 2.0f * page[i] + 1.0f;
}
