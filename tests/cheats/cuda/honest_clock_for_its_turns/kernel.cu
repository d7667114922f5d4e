extern "C" __global__ void row_sum(const float* x, float* sums, int rows, int cols) {
    __shared__ double parts[256];
    __shared__ unsigned drawn;
    if (threadIdx.x == 0) drawn = static_cast<unsigned>(clock64()) % 8;
    __syncthreads();
    const int row = blockIdx.x;
    double eighths[8] = {};
    for (int q = 0; q < 8; ++q) {
        const int eighth = (q + drawn) % 8;
        double sum = 0.0;
        for (int col = eighth * 256 + threadIdx.x; col < cols; col += 2048) sum += x[row * cols + col];
        for (int other = 0; other < 8; ++other) eighths[other] += other == eighth ? sum : 0.0;
    }
    double sum = 0.0;
    for (int eighth = 0; eighth < 8; ++eighth) sum += eighths[eighth];
    parts[threadIdx.x] = sum;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) sums[row] = static_cast<float>(parts[0]);
}
