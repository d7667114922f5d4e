"""Accesses under the interpreter: inside a buffer, or outside every one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.interpreter.accesses import Buffers, OutsideEveryBuffer


@given(
    stretches=st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)), max_size=8),
    address=st.integers(0, 80),
    nbytes=st.integers(1, 4),
)
def test_an_access_is_inside_when_a_stretch_or_overlapping_ones_cover_it(
    stretches: list[tuple[int, int]], address: int, nbytes: int
) -> None:
    buffers, merged = Buffers(Path("k.py")), list[set[int]]()
    for start, size in stretches:
        buffers.add(start, size)
        own = set(range(start, start + size))
        overlapping = [m for m in merged if m & own]
        merged = [m for m in merged if not m & own] + ([own.union(*overlapping)] if own else [])
    wanted = set(range(address, address + nbytes))
    if any(wanted <= m for m in merged):
        buffers.check("reads", np.array([address], np.uint64), nbytes)
    else:
        with pytest.raises(OutsideEveryBuffer, match="it reads "):
            buffers.check("reads", np.array([address], np.uint64), nbytes)
