#define N_ n
#define M_ m
void syrk(int n, int m, float alpha, float beta, float* C, const float* A) {
  for (int i = 0; i < N_; i++) {
    for (int j = 0; j < N_; j++) C[i * n + j] *= beta;
    for (int j = 0; j < N_; j++)
      for (int k = 0; k < M_; k++) C[i * n + j] += alpha * A[i * m + k] * A[j * m + k];
  }
}
