// s = A^T r and q = A p in one pass over A (m rows of n), PolyBench's bicg.
void bicg(const double* A, const double* p, const double* r, double* s, double* q, int m, int n) {
  for (int j = 0; j < n; ++j) s[j] = 0.0;
  for (int i = 0; i < m; ++i) {
    double sum = 0.0;
    for (int j = 0; j < n; ++j) {
      s[j] += r[i] * A[i * n + j];
      sum += A[i * n + j] * p[j];
    }
    q[i] = sum;
  }
}
