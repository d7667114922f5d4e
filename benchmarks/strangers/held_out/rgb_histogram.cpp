#include <cstdint>
#include <cstring>
void luminance_histogram(const uint8_t* rgb, uint32_t* hist, int pixels) {
  memset(hist, 0, 256 * sizeof(uint32_t));
  for (int i = 0; i < pixels; ++i) {
    const uint8_t* p = &rgb[3 * i];
    int y = (77 * p[0] + 150 * p[1] + 29 * p[2]) >> 8;
    hist[y]++;
  }
}
