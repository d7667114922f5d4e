extern "C" __global__ void scale(float* x, const int* mask, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || mask[i] == 0) return;
    x[i] *= factor;
}
