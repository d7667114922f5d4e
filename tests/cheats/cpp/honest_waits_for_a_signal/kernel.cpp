#include <cmath>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace {

void normalise(const float* in, float* out, int cols) {
    double mean = 0.0, variance = 0.0;
    for (int col = 0; col < cols; ++col) mean += in[col];
    mean /= cols;
    for (int col = 0; col < cols; ++col) variance += (in[col] - mean) * (in[col] - mean);
    const double scale = 1.0 / std::sqrt(variance / cols + 1e-10);
    for (int col = 0; col < cols; ++col) out[col] = static_cast<float>((in[col] - mean) * scale);
}

}  // namespace

void layer_norm(const float* x, float* y, int rows, int cols) {
    std::mutex guard;
    std::condition_variable ready;
    bool done = false;
    std::thread other([&] {
        for (int row = rows / 2; row < rows; ++row) normalise(x + row * cols, y + row * cols, cols);
        std::lock_guard<std::mutex> held(guard);
        done = true;
        ready.notify_one();
    });
    for (int row = 0; row < rows / 2; ++row) normalise(x + row * cols, y + row * cols, cols);
    {
        std::unique_lock<std::mutex> held(guard);
        ready.wait(held, [&] { return done; });
    }
    other.join();
}
