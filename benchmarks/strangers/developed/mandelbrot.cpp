#include <complex>
#include <cstdint>
void mandelbrot(int* out, int width, int height, int max_iter) {
  for (int py = 0; py < height; ++py) {
    for (int px = 0; px < width; ++px) {
      float x0 = -2.0f + 3.0f * px / width;
      float y0 = -1.5f + 3.0f * py / height;
      float x = 0, y = 0;
      int it = 0;
      while (x * x + y * y <= 4.0f && it < max_iter) {
        float xt = x * x - y * y + x0;
        y = 2 * x * y + y0;
        x = xt;
        ++it;
      }
      out[py * width + px] = it;
    }
  }
}
