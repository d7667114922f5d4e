#include <cstdint>
#include <cstring>

void lift(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) {
        std::uint32_t bits;
        std::memcpy(&bits, &x[i], 4);
        bits &= 0xFFFF0000u;
        float cut;
        std::memcpy(&cut, &bits, 4);
        y[i] = 2.0f * cut + 1.0f;
    }
}
