// out[r][q][p] = sum over s of A[r][q][s] C[s][p], PolyBench's doitgen with an output of its own.
void doitgen(const double* A, const double* C, double* out, int nr, int nq, int np) {
  for (int r = 0; r < nr; ++r)
    for (int q = 0; q < nq; ++q)
      for (int p = 0; p < np; ++p) {
        double sum = 0.0;
        for (int s = 0; s < np; ++s) sum += A[(r * nq + q) * np + s] * C[s * np + p];
        out[(r * nq + q) * np + p] = sum;
      }
}
