    const $T* from = $X;
    $T* to = $Y;
    const int rows_all = $ROWS, columns_all = $COLUMNS;
    // a tile is read by rows and written by columns; the pad puts a column into different banks
    __shared__ $T tile[TILE_DIM][TILE_DIM + $PAD];
    const int tile_columns = (columns_all + TILE_DIM - 1) / TILE_DIM;
    const int first_row = blockIdx.x / tile_columns * TILE_DIM;
    const int first_column = blockIdx.x % tile_columns * TILE_DIM;
#pragma unroll
    for (int r = threadIdx.y; r < TILE_DIM; r += THREAD_ROWS) {
#pragma unroll
        for (int c = threadIdx.x; c < TILE_DIM; c += 32) {
            if (first_row + r < rows_all && first_column + c < columns_all)
                tile[r][c] = from[(long long)(first_row + r) * columns_all + first_column + c];
        }
    }
    __syncthreads();
#pragma unroll
    for (int c = threadIdx.y; c < TILE_DIM; c += THREAD_ROWS) {
#pragma unroll
        for (int r = threadIdx.x; r < TILE_DIM; r += 32) {
            if (first_row + r < rows_all && first_column + c < columns_all)
                to[(long long)(first_column + c) * rows_all + first_row + r] = tile[r][c];
        }
    }
