#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

void layer_norm(const float* x, float* y, int rows, int cols) {
    const int count = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
    std::vector<std::thread> team;
    for (int part = 0; part < count; ++part)
        team.emplace_back([=] {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(part, &one);
            (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            for (int row = part; row < rows; row += count) {
                const float* in = x + row * cols;
                double mean = 0.0, variance = 0.0;
                for (int col = 0; col < cols; ++col) mean += in[col];
                mean /= cols;
                for (int col = 0; col < cols; ++col) variance += (in[col] - mean) * (in[col] - mean);
                const double scale = 1.0 / std::sqrt(variance / cols + 1e-10);
                for (int col = 0; col < cols; ++col)
                    y[row * cols + col] = static_cast<float>((in[col] - mean) * scale);
            }
        });
    for (std::thread& each : team) each.join();
}
