// point-wise complex multiplication and scaling, as after an FFT
#include <cuda_runtime.h>
typedef float2 Complex;

static __device__ __host__ inline Complex ComplexScale(Complex a, float s) {
  Complex c;
  c.x = s * a.x;
  c.y = s * a.y;
  return c;
}

static __device__ __host__ inline Complex ComplexMul(Complex a, Complex b) {
  Complex c;
  c.x = a.x * b.x - a.y * b.y;
  c.y = a.x * b.y + a.y * b.x;
  return c;
}

static __global__ void ComplexPointwiseMulAndScale(Complex *a, const Complex *b, int size,
                                                   float scale) {
  const int numThreads = blockDim.x * gridDim.x;
  const int threadID = blockIdx.x * blockDim.x + threadIdx.x;
  for (int i = threadID; i < size; i += numThreads) a[i] = ComplexScale(ComplexMul(a[i], b[i]), scale);
}

void convolve(Complex *d_signal, Complex *d_filter, int new_size) {
  ComplexPointwiseMulAndScale<<<32, 256>>>(d_signal, d_filter, new_size, 1.0f / new_size);
}
