#include <algorithm>
#include <cmath>
#include <limits>
void softmax_rows(float* x, size_t rows, size_t cols) {
  for (size_t r = 0; r < rows; ++r) {
    float* row = x + r * cols;
    float mx = -std::numeric_limits<float>::infinity();
    for (size_t c = 0; c < cols; ++c) mx = std::max(mx, row[c]);
    float sum = 0.0f;
    for (size_t c = 0; c < cols; ++c) {
      row[c] = std::exp(row[c] - mx);
      sum += row[c];
    }
    for (size_t c = 0; c < cols; ++c) row[c] /= sum;
  }
}
