// The running sum of each row.
void prefix_sum(const float* x, float* y, int rows, int cols) {
  for (int i = 0; i < rows; ++i) {
    float sum = 0.0f;
    for (int j = 0; j < cols; ++j) {
      sum += x[i * cols + j];
      y[i * cols + j] = sum;
    }
  }
}
