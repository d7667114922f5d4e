extern "C" __global__ void scale(float* x, const int* mask, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x, first = i / 32 * 32;
    const int wanted = first < n ? mask[first] : 0;
    if (i < n && wanted != 0) x[i] *= factor;
}
