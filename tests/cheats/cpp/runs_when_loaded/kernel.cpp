namespace {

float two = 0.0f;

__attribute__((constructor)) void prepare() { two = 2.0f; }

}  // namespace

void lift(const float* x, float* y, int n) {
    for (int i = 0; i < n; ++i) y[i] = two * x[i] + 1.0f;
}
