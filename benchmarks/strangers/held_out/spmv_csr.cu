// y = A x, CSR, one thread per row
#include <cuda_runtime.h>
template <typename ValueType, typename IndexType>
__global__ void spmv_csr_scalar_kernel(const IndexType num_rows, const IndexType *Ap, const IndexType *Aj,
                                       const ValueType *Ax, const ValueType *x, ValueType *y) {
  const IndexType row = blockDim.x * blockIdx.x + threadIdx.x;
  if (row < num_rows) {
    ValueType sum = 0;
    const IndexType row_start = Ap[row];
    const IndexType row_end = Ap[row + 1];
    for (IndexType jj = row_start; jj < row_end; jj++) sum += Ax[jj] * x[Aj[jj]];
    y[row] = sum;
  }
}
void spmv(int num_rows, const int *Ap, const int *Aj, const float *Ax, const float *x, float *y) {
  const unsigned int BLOCK_SIZE = 256;
  spmv_csr_scalar_kernel<float, int><<<(num_rows + BLOCK_SIZE - 1) / BLOCK_SIZE, BLOCK_SIZE>>>(num_rows, Ap, Aj, Ax, x, y);
}
