// The mean of 3 x 3 neighbours; the image has a border of one, the output none.
void blur(const float* in, float* out, int h, int w) {
  for (int x = 0; x < w; ++x)
    for (int y = 0; y < h; ++y) {
      float sum = 0.0f;
      for (int dy = 0; dy < 3; ++dy)
        for (int dx = 0; dx < 3; ++dx) sum += in[(y + dy) * (w + 2) + x + dx];
      out[y * w + x] = sum / 9.0f;
    }
}
