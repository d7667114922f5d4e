// A fragment of hydrodynamics, the first Livermore loop; z has 11 elements more.
void hydro(const double* y, const double* z, double* x, int n, double q, double r, double t) {
  for (int k = 0; k < n; ++k) x[k] = q + y[k] * (r * z[k + 10] + t * z[k + 11]);
}
