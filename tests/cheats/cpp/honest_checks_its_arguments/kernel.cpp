#include <cassert>
#include <cstdlib>

void lift(const float* x, float* y, int n) {
    if (!x || !y) std::abort();
    assert(n >= 0);
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
