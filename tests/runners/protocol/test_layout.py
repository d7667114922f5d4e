"""Records and arenas: every byte is an array's or a guard's, and alignment is what was promised."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.protocol.layout import CACHE_LINE, GUARD, PAGE, arena, record
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.io_contract import Contract

ARRAYS = st.lists(
    st.tuples(
        st.lists(st.integers(0, 40), min_size=1, max_size=3),
        st.sampled_from([1, 2, 4, 8, 16, 64, 256, 2048, 4096]),
        st.sampled_from(["int8", "float32", "float64"]),
    ),
    min_size=1,
    max_size=5,
)


def contract(arrays: list[tuple[list[int], int, str]]) -> BoundContract:
    arguments = [
        {"name": f"a{i}", "role": "inout", "dtype": dtype, "shape": shape, "align": align}
        for i, (shape, align, dtype) in enumerate(arrays)
    ]
    scalar = {"name": "n", "role": "scalar", "dtype": "int64", "value": 3}
    return bind(Contract.model_validate({"arguments": [*arguments, scalar]}), {}, "w")


@given(ARRAYS, st.integers(1, 4), st.booleans())
def test_guards_and_slots_tile_the_arena_exactly(
    arrays: list[tuple[list[int], int, str]], sets: int, barely: bool
) -> None:
    made = arena(contract(arrays), sets, barely_aligned=barely)
    spans = list[tuple[int, int]]()
    for index in range(sets):
        base = index * made.stride
        spans += [(base + s.offset, base + s.offset + s.nbytes) for s in made.slots]
        spans += made.guards(index)
    spans.sort()
    assert spans[0][0] == 0
    assert spans[-1][1] == made.nbytes
    assert all(a[1] == b[0] for a, b in pairwise(spans))


@given(ARRAYS, st.integers(1, 3), st.booleans())
def test_every_array_lies_between_guards_of_at_least_a_page(
    arrays: list[tuple[list[int], int, str]], sets: int, barely: bool
) -> None:
    made = arena(contract(arrays), sets, barely_aligned=barely)
    for index in range(sets):
        guards = made.guards(index)
        assert len(guards) == len(made.slots) + 1
        assert all(end - start >= GUARD for start, end in guards)
        for slot, (_, before), (after, _) in zip(made.slots, guards, guards[1:], strict=False):
            assert index * made.stride + slot.offset == before
            assert before + slot.nbytes == after


@given(ARRAYS)
def test_slots_have_the_arrays_names_and_sizes_and_no_scalars(
    arrays: list[tuple[list[int], int, str]],
) -> None:
    bound = contract(arrays)
    wanted = [(a.name, a.nbytes) for a in bound.arrays]
    assert [(s.name, s.nbytes) for s in arena(bound, 1).slots] == wanted
    assert [(s.name, s.nbytes) for s in record(bound.arrays).slots] == wanted


@given(ARRAYS, st.integers(1, 3))
def test_arrays_start_on_pages_in_every_set(
    arrays: list[tuple[list[int], int, str]], sets: int
) -> None:
    made = arena(contract(arrays), sets)
    starts = [i * made.stride + s.offset for i in range(sets) for s in made.slots]
    assert all(start % PAGE == 0 for start in starts)


@given(ARRAYS, st.integers(1, 3))
def test_barely_aligned_arrays_have_the_promised_alignment_and_no_greater_one(
    arrays: list[tuple[list[int], int, str]], sets: int
) -> None:
    bound = contract(arrays)
    made = arena(bound, sets, barely_aligned=True)
    for index in range(sets):
        for slot, array in zip(made.slots, bound.arrays, strict=True):
            start, align = index * made.stride + slot.offset, array.argument.align
            assert start % align == 0
            if align < PAGE:  # memory is mapped by the page: more than that is up to the system
                assert start % (2 * align) == align


@given(ARRAYS)
def test_a_record_keeps_its_arrays_apart_in_order_and_on_cache_lines(
    arrays: list[tuple[list[int], int, str]],
) -> None:
    made = record(contract(arrays).arrays)
    end = 0
    for slot in made.slots:
        assert slot.offset >= end
        assert slot.offset % CACHE_LINE == 0
        assert slot.offset - end < CACHE_LINE
        end = slot.offset + slot.nbytes
    assert made.nbytes >= max(end, CACHE_LINE)
    assert made.nbytes % CACHE_LINE == 0


def test_a_record_without_arrays_still_has_a_place() -> None:
    assert record(()).nbytes == CACHE_LINE
