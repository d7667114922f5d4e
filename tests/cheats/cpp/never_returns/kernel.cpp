void softmax(const float* x, float* y, int rows, int cols) {
    volatile int left = 1;
    while (left) y[0] = x[0] + static_cast<float>(rows + cols);
}
