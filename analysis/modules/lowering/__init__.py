"""Kernels cut out of a module's graph: which values meet memory, and the loops that make them.

`expansion` writes operators as simpler ones, `views` reads an element of one value in another,
`pointwise` says operators of elements in C, `cutting` decides which values are stored, `loops`
writes a stored one as a nest of loops, `reference` the same in ATen.
"""
