// both products of BiCG in one pass: s = A^T r by columns, q = A p by rows
#include <cuda_runtime.h>
#include <cstdio>
#define gpuErrchk(ans) { gpuAssert((ans), __FILE__, __LINE__); }
inline void gpuAssert(cudaError_t code, const char *file, int line, bool abort = true) {
  if (code != cudaSuccess) { fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line); if (abort) exit(code); }
}

__global__ void bicg(const double *__restrict__ A, const double *__restrict__ r,
                     const double *__restrict__ p, double *s, double *q, int m, int n) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t < n) {
    double acc = 0.0;
    for (int i = 0; i < m; i++) acc += A[i * n + t] * r[i];
    s[t] = acc;
  }
  if (t < m) {
    double acc = 0.0;
    for (int j = 0; j < n; j++) acc += A[t * n + j] * p[j];
    q[t] = acc;
  }
}

void run_bicg(const double *A, const double *r, const double *p, double *s, double *q, int m, int n) {
  int most = m > n ? m : n;
  bicg<<<(most + 255) / 256, 256>>>(A, r, p, s, q, m, n);
  gpuErrchk(cudaPeekAtLastError());
}
