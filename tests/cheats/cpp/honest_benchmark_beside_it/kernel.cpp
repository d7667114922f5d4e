#include <chrono>

double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void lift(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
}

int main() {
    static float x[1 << 16], y[1 << 16];
    const double begun = seconds();
    lift(x, y, 1 << 16);
    return seconds() - begun < 1.0 ? 0 : 1;
}
