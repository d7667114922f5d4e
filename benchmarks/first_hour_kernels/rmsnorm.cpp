#include <cmath>

// Each row over the root of the mean of its squares, times a weight a column.
void rmsnorm(const float* x, const float* weight, float* y, int rows, int cols, float eps) {
  for (int i = 0; i < rows; ++i) {
    float sum = 0.0f;
    for (int j = 0; j < cols; ++j) sum += x[i * cols + j] * x[i * cols + j];
    for (int j = 0; j < cols; ++j)
      y[i * cols + j] = x[i * cols + j] / std::sqrt(sum / cols + eps) * weight[j];
  }
}
