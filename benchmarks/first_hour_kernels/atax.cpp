// y = A^T (A x), PolyBench's atax as one writes it down: A has m rows of n.
void atax(const double* A, const double* x, double* y, int m, int n) {
  for (int j = 0; j < n; ++j) y[j] = 0.0;
  for (int i = 0; i < m; ++i) {
    double sum = 0.0;
    for (int j = 0; j < n; ++j) sum += A[i * n + j] * x[j];
    for (int j = 0; j < n; ++j) y[j] += A[i * n + j] * sum;
  }
}
