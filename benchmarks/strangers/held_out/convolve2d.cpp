// valid 2D convolution
template <typename T>
static T dot_window(const T* img, const T* ker, int w, int kw, int kh) {
  T s = 0;
  for (int y = 0; y < kh; ++y)
    for (int x = 0; x < kw; ++x) s += img[y * w + x] * ker[y * kw + x];
  return s;
}
void convolve2d(const float* image, const float* kernel, float* out, int h, int w, int kh, int kw) {
  int oh = h - kh + 1, ow = w - kw + 1;
#pragma omp parallel for collapse(2)
  for (int i = 0; i < oh; ++i)
    for (int j = 0; j < ow; ++j) out[i * ow + j] = dot_window(&image[i * w + j], kernel, w, kw, kh);
}
