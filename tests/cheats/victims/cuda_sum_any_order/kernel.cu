// The sum of an array, one atomic addition an element.
extern "C" __global__ void total(const float* x, float* sum, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
