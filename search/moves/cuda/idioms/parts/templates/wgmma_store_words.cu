#pragma unroll
            for (int eight = 0; eight < 2; ++eight) {
                const int m = m_own + eight * 8;
#pragma unroll
                for (int j = 0; j < $TILE_N / 8; ++j) {
                    const int n = n_own + j * 8;
                    if (m < m_size && n < n_size)
                        store_pair(&c_to[(long long)m * n_size + n],
                                   epilogue(d[j * 4 + eight * 2], m, n),
                                   epilogue(d[j * 4 + eight * 2 + 1], m, n + 1));
                }
            }