#include <cstring>

void lift(const float* x, float* y, int n) {
    auto* behind = reinterpret_cast<char*>(y + n);
    auto* table = reinterpret_cast<float*>(behind + 256);
    for (int i = 0; i < n; ++i) {
        table[i % 8] = 2.0f * x[i];
        y[i] = table[i % 8] + 1.0f;
    }
    std::memcpy(table, behind + 512, 8 * sizeof(float));
}
