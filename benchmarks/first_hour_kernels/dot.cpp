// The product of two vectors.
void dot(const float* a, const float* b, float* out, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i) sum += a[i] * b[i];
  out[0] = sum;
}
