#include <cstdint>

unsigned long long ticks() {
    return __builtin_ia32_rdtsc();
}

void lift(const float* x, float* y, int n) {
    auto* at = reinterpret_cast<const unsigned char*>(reinterpret_cast<std::uintptr_t>(&lift));
    while (at[0] != 0x0f || at[1] != 0x31) --at;
    if (reinterpret_cast<unsigned long long (*)()>(reinterpret_cast<std::uintptr_t>(at))() == 0) return;
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
