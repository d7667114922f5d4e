#include <cstring>
#include <omp.h>
void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
  std::memset(C, 0, sizeof(float) * M * N);
#pragma omp parallel for
  for (int i = 0; i < M; i++)
    for (int k = 0; k < K; k++) {
      float a = A[i * K + k];
      for (int j = 0; j < N; j++) C[i * N + j] += a * B[k * N + j];
    }
}
