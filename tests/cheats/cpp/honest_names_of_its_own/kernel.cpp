namespace {

struct stat {
    float slope, level;
};

float access(const stat& line, float x) { return line.slope * x + line.level; }

void glob(const float* x, float* y, int n) {
    const stat line{2.0f, 1.0f};
    for (int i = 0; i < n; ++i) y[i] = access(line, x[i]);
}

}  // namespace

void lift(const float* x, float* y, int n) { glob(x, y, n); }
