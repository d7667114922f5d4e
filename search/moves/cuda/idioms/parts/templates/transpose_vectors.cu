    const $T* from = $X;
    $T* to = $Y;
    const int rows_all = $ROWS, columns_all = $COLUMNS;
    // a tile has TILE_VECTORS vectors of $LANES elements a row, and as many squares of $LANES x $LANES
    // elements each way: one a thread
    constexpr int elements = $LANES, span = TILE_VECTORS, side = span * elements, pitch = side + $PAD;
    constexpr int units = 128 / $WIDTH;  // vectors that all banks of shared memory hold side by side
    static_assert(span % units == 0 && side % 32 == 0, "a row of a tile is whole lines of 128 bytes");
    alignas($WIDTH) __shared__ $T tile[side * pitch];
    const int tile_rows = (rows_all + side - 1) / side;
    const int tile_columns = (columns_all + side - 1) / side;
    // blocks go down TILE_GROUP tiles before they go on to the right: those that run at one time read
    // long pieces of few rows, and write long pieces of few rows
    const int group = blockIdx.x / (TILE_GROUP * tile_columns);
    const int within = blockIdx.x % (TILE_GROUP * tile_columns);
    const int below = tile_rows - group * TILE_GROUP;
    const int height = below < TILE_GROUP ? below : TILE_GROUP;
    const int first_row = (group * TILE_GROUP + within % height) * side;
    const int first_column = within / height * side;
    if (rows_all % elements == 0 && columns_all % elements == 0) {
        // A thread turns its square in registers, and hands its columns over as vectors. Vector q of
        // column c lies in slot q ^ (c / elements % units) of the column's. $PHASE lanes that store
        // have one q and c / elements = 0, 1, 2 ... modulo units; $PHASE lanes that load have one c and
        // q = 0, 1, 2 ... modulo units. Both ways these are all units, so all 32 banks once.
        $VECTOR* slots = reinterpret_cast<$VECTOR*>(tile);
        const int across = threadIdx.x % span, down = threadIdx.x / span;
        if (first_row + down * elements < rows_all && first_column + across * elements < columns_all) {
            alignas($WIDTH) $BITS square[elements][elements];
            const $T* corner = from + (long long)(first_row + down * elements) * columns_all +
                               first_column + across * elements;
#pragma unroll
            for (int i = 0; i < elements; ++i)
                *reinterpret_cast<$VECTOR*>(square[i]) =
                    *reinterpret_cast<const $VECTOR*>(corner + (long long)i * columns_all);
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                alignas($WIDTH) $BITS column[elements];
#pragma unroll
                for (int j = 0; j < elements; ++j) column[j] = square[j][i];
                slots[(across * elements + i) * span + (down ^ across % units)] =
                    *reinterpret_cast<const $VECTOR*>(column);
            }
        }
        __syncthreads();
        $T* corner = to + (long long)first_column * rows_all + first_row + across * elements;
        if (first_row + across * elements < rows_all) {
#pragma unroll
            for (int i = 0; i < elements; ++i) {
                const int c = i * span + down;
                if (first_column + c < columns_all)
                    *reinterpret_cast<$VECTOR*>(corner + (long long)c * rows_all) =
                        slots[c * span + (across ^ c / elements % units)];
            }
        }
    } else {
        // rows begin anywhere: element by element, the pad puts a column into different banks
        constexpr int lines = span * span / 32;  // warps, each on a line of its own
        const int across = threadIdx.x % 32, down = threadIdx.x / 32;
#pragma unroll 8
        for (int k = 0; k < side / lines; ++k) {
            const int r = k * lines + down;
#pragma unroll
            for (int c = across; c < side; c += 32) {
                if (first_row + r < rows_all && first_column + c < columns_all)
                    tile[r * pitch + c] =
                        from[(long long)(first_row + r) * columns_all + first_column + c];
            }
        }
        __syncthreads();
#pragma unroll 8
        for (int k = 0; k < side / lines; ++k) {
            const int c = k * lines + down;
#pragma unroll
            for (int r = across; r < side; r += 32) {
                if (first_row + r < rows_all && first_column + c < columns_all)
                    to[(long long)(first_column + c) * rows_all + first_row + r] =
                        tile[r * pitch + c];
            }
        }
    }
