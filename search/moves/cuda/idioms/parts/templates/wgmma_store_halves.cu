            // neighbouring lanes swap pairs of two groups of eight columns, so that a lane stores
            // 8 bytes, and four lanes a whole sector of 32
#pragma unroll
            for (int eight = 0; eight < 2; ++eight) {
                const int m = m_own + eight * 8;
#pragma unroll
                for (int j = 0; j < $TILE_N / 8; j += 2) {
                    unsigned pairs[2];
#pragma unroll
                    for (int i = 0; i < 2; ++i) {
                        const int n = n_own + (j + i) * 8, at = (j + i) * 4 + eight * 2;
                        pairs[i] = m < m_size && n < n_size
                                       ? pair_bits(epilogue(d[at], m, n), epilogue(d[at + 1], m, n + 1))
                                       : 0u;
                    }
                    const int odd = lane % 2, n = n_own + (j + odd) * 8 - odd * 2;
                    const unsigned other = __shfl_xor_sync(0xffffffffu, odd ? pairs[0] : pairs[1], 1);
                    const uint2 four = odd ? make_uint2(other, pairs[1]) : make_uint2(pairs[0], other);
                    if (m < m_size && n < n_size)
                        *reinterpret_cast<uint2*>(&c_to[(long long)m * n_size + n]) = four;
                }
            }