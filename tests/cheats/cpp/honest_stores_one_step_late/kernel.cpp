#include <cstring>

namespace {

struct Four {
    float at[4];
};

Four lifted(const float* x) {
    Four made;
    for (int k = 0; k < 4; ++k) made.at[k] = 2.0f * x[k] + 1.0f;
    return made;
}

}  // namespace

void lift(const float* x, float* y, int n) {
    const int whole = n / 4 * 4;
    Four waiting{};
    for (int i = 0; i < whole; i += 4) {
        const Four made = lifted(x + i);
        if (i > 0) std::memcpy(y + i - 4, waiting.at, sizeof waiting.at);
        waiting = made;
    }
    if (whole > 0) std::memcpy(y + whole - 4, waiting.at, sizeof waiting.at);
    for (int i = whole; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
