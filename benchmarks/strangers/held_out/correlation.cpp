#include <cmath>
#include <vector>
void standardize(float* data, int n, int m, float eps) {
  std::vector<float> mean(m), stddev(m);
  for (int j = 0; j < m; j++) {
    mean[j] = 0.0f;
    for (int i = 0; i < n; i++) mean[j] += data[i * m + j];
    mean[j] /= n;
    stddev[j] = 0.0f;
    for (int i = 0; i < n; i++) stddev[j] += (data[i * m + j] - mean[j]) * (data[i * m + j] - mean[j]);
    stddev[j] = std::sqrt(stddev[j] / n);
    if (stddev[j] <= eps) stddev[j] = 1.0f;
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < m; j++) data[i * m + j] = (data[i * m + j] - mean[j]) / stddev[j];
}
