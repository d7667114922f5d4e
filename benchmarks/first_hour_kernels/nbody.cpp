#include <cmath>

// The pull of n bodies of equal mass on each other, softened by eps.
void nbody(const float* px, const float* py, const float* pz, float* ax, float* ay, float* az,
           int n, float eps) {
  for (int i = 0; i < n; ++i) {
    float sx = 0.0f, sy = 0.0f, sz = 0.0f;
    for (int j = 0; j < n; ++j) {
      float dx = px[j] - px[i], dy = py[j] - py[i], dz = pz[j] - pz[i];
      float inv = 1.0f / std::sqrt(dx * dx + dy * dy + dz * dz + eps);
      float pull = inv * inv * inv;
      sx += dx * pull;
      sy += dy * pull;
      sz += dz * pull;
    }
    ax[i] = sx;
    ay[i] = sy;
    az[i] = sz;
  }
}
