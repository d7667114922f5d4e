"""What Triton moves are made of: how they read a source, and how they write one.

To find the kernels of a state and their launch: `kernels.kernels_of`; what a name stands for, index
arithmetic included: `values`; what a mask bounds: `masks`; what a parameter is in the contract:
`arguments`; products of matrices and their tiles: `matmuls`, `tiles`; rows: `rows`.
To write: `source.Source.replace` and `edited` keep all that is not replaced; `one_a_line`,
`row_copies`, `tile_copies` and `wide_copies` write statements anew.
"""
