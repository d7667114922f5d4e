// y = alpha A x + beta B x, PolyBench's gesummv.
void gesummv(const double* A, const double* B, const double* x, double* y, int n, double alpha,
             double beta) {
  for (int i = 0; i < n; ++i) {
    double a = 0.0, b = 0.0;
    for (int j = 0; j < n; ++j) {
      a += A[i * n + j] * x[j];
      b += B[i * n + j] * x[j];
    }
    y[i] = alpha * a + beta * b;
  }
}
