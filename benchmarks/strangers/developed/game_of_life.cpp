#include <cstdint>
static inline int alive(const uint8_t* g, int r, int c, int rows, int cols) {
  if (r < 0) r += rows;
  if (r >= rows) r -= rows;
  if (c < 0) c += cols;
  if (c >= cols) c -= cols;
  return g[r * cols + c];
}
void game_of_life(const uint8_t* grid, uint8_t* next, int rows, int cols) {
  for (int r = 0; r < rows; r++) {
    for (int c = 0; c < cols; c++) {
      int count = 0;
      for (int dr = -1; dr <= 1; dr++)
        for (int dc = -1; dc <= 1; dc++) {
          if (dr == 0 && dc == 0) continue;
          count += alive(grid, r + dr, c + dc, rows, cols);
        }
      if (count == 3 || (count == 2 && grid[r * cols + c])) next[r * cols + c] = 1;
      else next[r * cols + c] = 0;
    }
  }
}
