"""Known cheats and broken kernels, and honest ones that look suspicious: data, no code of ours.

Each folder beneath `cpp`, `cuda` and `triton` is a page (`page.md`) with its source; `victims`
has the kernels that they pretend to make faster. `server/selftest/cheats.py` reads them.
"""
