// One explicit step of the heat equation on an H x W row-major grid with insulated walls:
// each cell moves towards its four neighbours, and a neighbour beyond the wall is the cell itself.
// The defaults below are the plainest loops; each macro changes one thing about them.

#include <algorithm>

#ifndef ORDER
#define ORDER 0  // 0: down the columns, i innermost; 1: along the rows, j innermost
#endif
#ifndef EDGES
#define EDGES 0  // 0: every cell looks for the walls; 1: only cells at the rim do
#endif
#ifndef TILE
#define TILE 0  // the grid is taken in tiles of TILE rows and 4 * TILE columns; 0: whole
#endif
#ifndef THREADS
#define THREADS 1
#endif

namespace {

struct Range {
    int first, last;  // last is exclusive
};

struct Grid {
    const float* u;
    float* out;
    int H, W;
    float alpha;
};

float step(const Grid& g, int i, int j, int north, int south, int west, int east) {
    const float centre = g.u[i * g.W + j];
    const float around = (g.u[north * g.W + j] + g.u[south * g.W + j]) +
                         (g.u[i * g.W + west] + g.u[i * g.W + east]);
    return centre + g.alpha * (around - 4.0f * centre);
}

void update_at_wall(const Grid& g, int i, int j) {
    const int north = std::max(i - 1, 0), south = std::min(i + 1, g.H - 1);
    const int west = std::max(j - 1, 0), east = std::min(j + 1, g.W - 1);
    g.out[i * g.W + j] = step(g, i, j, north, south, west, east);
}

[[maybe_unused]] void update_inside(const Grid& g, int i, int j) {
    g.out[i * g.W + j] = step(g, i, j, i - 1, i + 1, j - 1, j + 1);
}

template <void (*update)(const Grid&, int, int)>
void sweep(const Grid g, Range rows, Range columns) {
#if ORDER == 0
    for (int j = columns.first; j < columns.last; ++j) {
        for (int i = rows.first; i < rows.last; ++i) update(g, i, j);
    }
#else
    for (int i = rows.first; i < rows.last; ++i) {
        for (int j = columns.first; j < columns.last; ++j) update(g, i, j);
    }
#endif
}

template <void (*update)(const Grid&, int, int)>
void sweep_tiled(const Grid& g, Range rows, Range columns) {
    const int tile_rows = TILE > 0 ? TILE : g.H;
    const int tile_columns = TILE > 0 ? 4 * TILE : g.W;
    for (int i = rows.first; i < rows.last; i += tile_rows) {
        for (int j = columns.first; j < columns.last; j += tile_columns) {
            sweep<update>(g, {i, std::min(i + tile_rows, rows.last)},
                          {j, std::min(j + tile_columns, columns.last)});
        }
    }
}

template <void (*update)(const Grid&, int, int)>
void sweep_in_threads(const Grid& g, Range rows, Range columns) {
    const int share = (rows.last - rows.first + THREADS - 1) / THREADS;
#pragma omp parallel for num_threads(THREADS)
    for (int t = 0; t < THREADS; ++t) {
        const int first = std::min(rows.first + t * share, rows.last);
        sweep_tiled<update>(g, {first, std::min(first + share, rows.last)}, columns);
    }
}

}  // namespace

void stencil(const float* u, float* out, int H, int W, float alpha) {
    const Grid g{u, out, H, W, alpha};
#if EDGES == 0
    sweep_in_threads<update_at_wall>(g, {0, H}, {0, W});
#else
    sweep<update_at_wall>(g, {0, 1}, {0, W});
    sweep<update_at_wall>(g, {H - 1, H}, {0, W});
    sweep<update_at_wall>(g, {0, H}, {0, 1});
    sweep<update_at_wall>(g, {0, H}, {W - 1, W});
    if (H > 2 && W > 2) sweep_in_threads<update_inside>(g, {1, H - 1}, {1, W - 1});
#endif
}
