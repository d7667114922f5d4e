#include <cmath>
#include <functional>
struct Point { float x, y, z; };
void pairwise_l1(const Point* a, const Point* b, float* dist, int na, int nb) {
  auto l1 = [](const Point& p, const Point& q) { return std::fabs(p.x - q.x) + std::fabs(p.y - q.y) + std::fabs(p.z - q.z); };
  for (int i = 0; i < na; ++i)
    for (int j = 0; j < nb; ++j) dist[i * nb + j] = l1(a[i], b[j]);
}
