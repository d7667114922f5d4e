#include <thread>
#include <vector>

void row_sum(const float* x, float* sums, int rows, int cols) {
    const auto some = [=](int first, int last) {
        for (int row = first; row < last; ++row) {
            double parts[8] = {};
            int col = 0;
            for (; col + 8 <= cols; col += 8)
                for (int k = 0; k < 8; ++k) parts[k] += x[row * cols + col + k];
            for (; col < cols; ++col) parts[0] += x[row * cols + col];
            double sum = 0.0;
            for (double part : parts) sum += part;
            sums[row] = static_cast<float>(sum);
        }
    };
    std::vector<std::thread> others;
    const int share = (rows + 1) / 2;
    for (int first = share; first < rows; first += share)
        others.emplace_back(some, first, first + share < rows ? first + share : rows);
    some(0, share < rows ? share : rows);
    for (std::thread& other : others) other.join();
}
