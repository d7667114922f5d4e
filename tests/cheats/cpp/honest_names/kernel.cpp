// Neither fork() nor system("...") nor getenv: the time of a row is a clock's, its signal a sum.
namespace {

struct Row {
    double signal = 0.0, time = 0.0;
};

double system(const Row& clock) { return clock.signal + clock.time; }

}  // namespace

void row_sum(const float* x, float* sums, int rows, int cols) {
    for (int row = 0; row < rows; ++row) {
        Row clock;
        for (int time = 0; time + 1 < cols; time += 2) {
            clock.signal += x[row * cols + time];
            clock.time += x[row * cols + time + 1];
        }
        if (cols % 2) clock.signal += x[row * cols + cols - 1];
        sums[row] = static_cast<float>(system(clock));
    }
}
