#include <cuda_runtime.h>
#define INDEX(i, j, k) ((i) + (j) * nx + (k) * nx * ny)
__global__ void laplace3d(int nx, int ny, int nz, const double *__restrict__ u1, double *__restrict__ u2) {
  int i = threadIdx.x + blockIdx.x * blockDim.x;
  int j = threadIdx.y + blockIdx.y * blockDim.y;
  int k = threadIdx.z + blockIdx.z * blockDim.z;
  if (i < nx && j < ny && k < nz) {
    double v;
    if (i == 0 || i == nx - 1 || j == 0 || j == ny - 1 || k == 0 || k == nz - 1)
      v = u1[INDEX(i, j, k)];
    else
      v = (u1[INDEX(i - 1, j, k)] + u1[INDEX(i + 1, j, k)] + u1[INDEX(i, j - 1, k)] + u1[INDEX(i, j + 1, k)] +
           u1[INDEX(i, j, k - 1)] + u1[INDEX(i, j, k + 1)]) * (1.0 / 6.0);
    u2[INDEX(i, j, k)] = v;
  }
}
void iterate(int nx, int ny, int nz, double *u1, double *u2, int steps) {
  dim3 threads(32, 4, 2);
  dim3 blocks((nx + 31) / 32, (ny + 3) / 4, (nz + 1) / 2);
  for (int s = 0; s < steps; s++) {
    laplace3d<<<blocks, threads>>>(nx, ny, nz, u1, u2);
    double *t = u1; u1 = u2; u2 = t;
  }
}
