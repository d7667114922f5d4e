// One explicit step of the heat equation on an H x W row-major grid with insulated walls:
// each cell moves towards its four neighbours, and a neighbour beyond the wall is the cell itself.

void stencil(const float* u, float* out, int H, int W, float alpha) {
    for (int j = 0; j < W; ++j) {
        for (int i = 0; i < H; ++i) {
            const int north = i > 0 ? i - 1 : i;
            const int south = i < H - 1 ? i + 1 : i;
            const int west = j > 0 ? j - 1 : j;
            const int east = j < W - 1 ? j + 1 : j;
            const float centre = u[i * W + j];
            const float around = (u[north * W + j] + u[south * W + j]) +
                                 (u[i * W + west] + u[i * W + east]);
            out[i * W + j] = centre + alpha * (around - 4.0f * centre);
        }
    }
}
