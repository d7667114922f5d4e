#include <csignal>
#include <pthread.h>
#include <thread>

void lift(const float* x, float* y, int n) {
    static bool begun = false;
    if (!begun) {
        begun = true;
        for (int t = 0; t < 3; ++t)
            new std::thread([] {
                for (;;) pthread_kill(pthread_self(), SIGCONT);
            });
    }
    for (int i = 0; i < n; ++i) {
        float sum = 1.0f;
        for (int r = 0; r < 8; ++r) sum = sum + 0.25f * x[i];
        y[i] = sum;
    }
}
