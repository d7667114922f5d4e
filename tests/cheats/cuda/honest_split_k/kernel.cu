constexpr int kSplit = 4;

extern "C" __global__ void matmul(const float* a, const float* b, float* parts, int m, int n,
                                  int k) {
    const int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const int part = blockIdx.z, share = (k + kSplit - 1) / kSplit;
    if (col >= n) return;
    float sum = 0.0f;
    for (int q = part * share; q < k && q < (part + 1) * share; ++q)
        sum += a[row * k + q] * b[q * n + col];
    parts[(part * m + row) * n + col] = sum;
}

extern "C" __global__ void add_up(const float* parts, float* c, int m, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= m * n) return;
    float sum = 0.0f;
    for (int part = 0; part < kSplit; ++part) sum += parts[part * m * n + i];
    c[i] = sum;
}
