#include <cmath>

// x = factor x where the mask is not zero, in place.
void scale(float* x, const int* mask, float factor, int n) {
    for (int i = 0; i < n; ++i) {
        volatile double wide = std::sqrt(static_cast<double>(factor) * factor);
        if (mask[i] != 0) x[i] = static_cast<float>(wide * x[i]);
    }
}
