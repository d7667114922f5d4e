// x = factor x where the mask is not zero, in place.
extern "C" __global__ void scale(float* x, const int* mask, float factor, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = mask[i] != 0 ? factor * x[i] : x[i];
}
