#include <vector>
#include <numeric>
#include <cstring>
// centre the columns of a table
void center_columns(const double* table, double* centered, int rows, int cols) {
  std::vector<double> mean(cols, 0.0);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) mean[c] += table[r * cols + c];
  for (auto& m : mean) m /= rows;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) centered[r * cols + c] = table[r * cols + c] - mean[c];
}
