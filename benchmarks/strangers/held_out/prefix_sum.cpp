#include <vector>
#include <cstdint>
void inclusive_rows(const std::int32_t* in, std::int64_t* out, int rows, int cols) {
  for (int r = 0; r < rows; ++r) {
    std::int64_t running = 0;
    for (int c = 0; c < cols; ++c) out[r * cols + c] = (running += in[r * cols + c]);
  }
}
