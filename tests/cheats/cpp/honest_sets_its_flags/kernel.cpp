#pragma GCC optimize("O3", "unroll-loops", "no-math-errno")
#pragma GCC target("avx2,fma,bmi2")

void lift(const float* x, float* y, int n) {
#pragma GCC ivdep
    for (int i = 0; i < n; ++i) y[i] = 2.0f * x[i] + 1.0f;
}
