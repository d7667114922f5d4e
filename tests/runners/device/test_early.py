"""Which part of an output is copied at once behind the event that tells its end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.device.keeping import EARLY_BYTES, WORD, part_of


@given(st.integers(0, 4 * EARLY_BYTES), st.integers(1, 1 << 30))
def test_a_part_lies_in_its_output_and_is_all_of_a_small_one(nbytes: int, place: int) -> None:
    start = place * WORD
    first, size = part_of(start, nbytes)
    assert start <= first and first + size <= start + nbytes and first % WORD == 0
    assert size == nbytes if nbytes <= EARLY_BYTES else size == EARLY_BYTES
