// Elimination below the diagonal of many tridiagonal systems, the fifth Livermore loop for each row.
void tridiag(const double* z, const double* y, double* x, int m, int n) {
  for (int i = 0; i < m; ++i) {
    x[i * n] = z[i * n] * y[i * n];
    for (int k = 1; k < n; ++k) x[i * n + k] = z[i * n + k] * (y[i * n + k] - x[i * n + k - 1]);
  }
}
