#include <cstdint>

void histogram(const unsigned char* values, int* bins, int n) {
    static thread_local std::uint16_t counts[4][256];
    for (auto& lane : counts)
        for (auto& count : lane) count = 0;
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int lane = 0; lane < 4; ++lane) ++counts[lane][values[i + lane]];
    for (; i < n; ++i) ++counts[0][values[i]];
    for (int bin = 0; bin < 256; ++bin)
        bins[bin] = static_cast<std::uint16_t>(counts[0][bin] + counts[1][bin] + counts[2][bin] +
                                               counts[3][bin]);
}
