#include <vector>
#include <cstring>
void jacobi2d(const float* in, float* out, int n, int m, int steps) {
  std::vector<float> a(in, in + n * m), b(n * m);
  std::memcpy(b.data(), a.data(), sizeof(float) * n * m);
  for (int t = 0; t < steps; ++t) {
    for (int i = 1; i < n - 1; ++i)
      for (int j = 1; j < m - 1; ++j)
        b[i * m + j] = 0.2f * (a[i * m + j] + a[i * m + j - 1] + a[i * m + j + 1] + a[(i + 1) * m + j] + a[(i - 1) * m + j]);
    std::swap(a, b);
  }
  std::memcpy(out, a.data(), sizeof(float) * n * m);
}
