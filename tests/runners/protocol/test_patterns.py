"""Poisons and guard bands: drawn, nothing that could be known, and still what they are for."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from kernelwright.runners.protocol.layout import arena
from kernelwright.runners.protocol.patterns import draw_poisons, holds, kind_of, put, repeated
from kernelwright.runners.protocol.shared_arena import ArenaStock, SharedArena
from kernelwright.runners.specs.contract import bind
from kernelwright.runners.specs.io_contract import Contract

FLOATS = (np.float64, np.float32, np.float16, ml_dtypes.bfloat16)
DRAWN = [draw_poisons() for _ in range(50)]


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda dtype: np.dtype(dtype).name)
def test_one_poison_is_nan_and_the_other_a_number_in_every_float_type(dtype: type) -> None:
    for nan, number in DRAWN:
        assert np.isnan(repeated(nan, 64).view(dtype).astype(np.float64)).all()
        assert np.isfinite(repeated(number, 64).view(dtype).astype(np.float64)).all()
        assert (kind_of(nan), kind_of(number)) == ("nan", "number")


def test_poisons_are_drawn() -> None:
    assert len({nan for nan, _ in DRAWN}) > 45 and len({number for _, number in DRAWN}) == 50
    assert all(nan & 0xFF == 0xFF for nan, _ in DRAWN), "one byte of it alone is NaN as well"
    assert not any(number & 0xFF in (0, 0xFF) for _, number in DRAWN)


@pytest.mark.parametrize("nbytes", [0, 1, 7, 8, 13, 64])
def test_memory_holds_a_poison_from_when_it_was_put_until_one_byte_differs(nbytes: int) -> None:
    memory, (poison, _) = np.zeros(nbytes + 3, dtype=np.uint8)[3:], DRAWN[0]
    put(memory, poison)
    assert holds(memory, poison) and np.array_equal(memory, repeated(poison, nbytes))
    for at in range(nbytes):
        memory[at] ^= 1
        assert not holds(memory, poison)
        memory[at] ^= 1


@pytest.fixture
def shared() -> SharedArena:
    output = {"name": "y", "role": "output", "dtype": "float32", "shape": [100]}
    bound = bind(Contract.model_validate({"arguments": [output]}), {}, "w")
    return ArenaStock().take(arena(bound, 3, scattered=1))


def bands(shared: SharedArena) -> list[bytes]:
    found = (span for index in range(3) for span in shared.layout.guards(index))
    return [shared.memory[start:end].tobytes() for start, end in found]


def test_no_band_holds_what_another_holds_or_what_it_held_before(shared: SharedArena) -> None:
    before = bands(shared)
    shared.guard()
    both = before + bands(shared)
    assert len(set(both)) == len(both)
    assert all(len(set(band)) > 200 for band in both), "no byte follows from its neighbour"


@pytest.mark.parametrize("how", ["a constant", "a neighbour", "another band"])
def test_a_band_that_was_borrowed_is_not_restored_by_what_can_be_guessed(
    how: str, shared: SharedArena
) -> None:
    start, end = shared.layout.guards(1)[1]
    other = shared.layout.guards(2)[1][0]
    memory = shared.memory
    match how:
        case "a constant":
            memory[start : start + 32] = 0xC3
        case "a neighbour":
            memory[start : start + 32] = memory[start + 32 : start + 64]
        case _:
            memory[start : start + 32] = memory[other : other + 32]
    ((number, behind, before),) = shared.damaged(1)
    assert number == 1 and behind < 32 and before > end - start - 33
    assert not list(shared.damaged(0)) and not list(shared.damaged(2))
    shared.restore(1)
    assert not list(shared.damaged(1))
