"""Records and arenas: every byte is an array's or a guard's, and alignment is what was promised."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.protocol.layout import (
    CACHE_LINE,
    GUARD,
    PAGE,
    Arena,
    Flush,
    arena,
    placed_arena,
    record,
)
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


FLUSHES: tuple[Flush, ...] = ("", "before", "behind")
PLACES = st.tuples(
    st.booleans(), st.sampled_from(FLUSHES), st.none() | st.integers(0, 9), st.none() | st.just(3)
)
Place = tuple[bool, Flush, int | None, int | None]


def laid(bound: BoundContract, sets: int, place: Place) -> Arena:
    barely, flush, placed, scattered = place
    return arena(
        bound, sets, barely_aligned=barely, flush=flush, placed=placed, scattered=scattered
    )


@given(ARRAYS, st.integers(1, 4), PLACES)
def test_guards_and_slots_tile_the_arena_exactly(
    arrays: list[tuple[list[int], int, str]], sets: int, place: Place
) -> None:
    made = laid(contract(arrays), sets, place)
    spans = list[tuple[int, int]]()
    for index in range(sets):
        base = made.span(index)[0]
        spans += [(base + s.offset, base + s.offset + s.nbytes) for s in made.slots]
        spans += made.guards(index)
    spans.sort()
    assert spans[0][0] == 0
    assert spans[-1][1] == made.nbytes
    assert all(a[1] == b[0] for a, b in pairwise(spans))


@given(ARRAYS, st.integers(1, 3), PLACES)
def test_every_array_lies_between_guards_of_at_least_a_page(
    arrays: list[tuple[list[int], int, str]], sets: int, place: Place
) -> None:
    made = laid(contract(arrays), sets, place)
    for index in range(sets):
        guards = made.guards(index)
        assert len(guards) == len(made.slots) + 1
        assert all(end - start >= GUARD for start, end in guards)
        for slot, (_, before), (after, _) in zip(made.slots, guards, guards[1:], strict=False):
            assert made.span(index)[0] + slot.offset == before
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


@given(ARRAYS, st.integers(1, 3), st.none() | st.integers(0, 99))
def test_barely_aligned_arrays_have_the_promised_alignment_and_no_greater_one(
    arrays: list[tuple[list[int], int, str]], sets: int, placed: int | None
) -> None:
    bound = contract(arrays)
    made = arena(bound, sets, barely_aligned=True, placed=placed)
    aligns = {array.name: array.argument.align for array in bound.arrays}
    for index in range(sets):
        for slot in made.slots:
            start, align = made.span(index)[0] + slot.offset, aligns[slot.name]
            assert start % align == 0
            if align < PAGE:  # memory is mapped by the page: more than that is up to the system
                assert start % (2 * align) == align


@given(ARRAYS, st.integers(1, 3), st.sampled_from(["before", "behind"]), st.integers(0, 9))
def test_flush_arrays_begin_or_end_at_holes_but_for_what_alignment_asks(
    arrays: list[tuple[list[int], int, str]], sets: int, flush: Flush, placed: int
) -> None:
    bound = contract(arrays)
    made = arena(bound, sets, flush=flush, placed=placed, scattered=placed)
    aligns = {array.name: array.argument.align for array in bound.arrays}
    holes = made.holes()
    assert all(start % PAGE == end % PAGE == 0 and start < end for start, end in holes)
    starts, ends = {start for start, _ in holes}, {end for _, end in holes}
    for index in range(sets):
        for slot in made.slots:
            start = made.span(index)[0] + slot.offset
            end, align = start + slot.nbytes, aligns[slot.name]
            assert start % align == 0
            assert not any(hole < end and start < behind for hole, behind in holes)
            if flush == "before":
                assert start in ends
            else:
                assert end + -slot.nbytes % align in starts


def test_a_drawn_placement_is_equal_for_equal_seeds_and_other_for_others() -> None:
    bound = contract([([5000], 16, "float32")] * 4)
    drawn = [arena(bound, 3, barely_aligned=True, placed=seed) for seed in range(20)]
    assert drawn[7] == arena(bound, 3, barely_aligned=True, placed=7)
    assert len({made.slots[0].name for made in drawn}) > 1, "the order of arrays"
    assert len({made.slots[0].offset % PAGE for made in drawn}) > 5, "the offset from a page"
    between = {made.slots[1].offset - made.slots[0].offset for made in drawn}
    assert len({distance // PAGE for distance in between}) > 1, "the distance between arrays"


def test_scattered_sets_overlap_nowhere_and_lie_in_no_order_that_an_index_tells() -> None:
    bound = contract([([600], 16, "float32")] * 2)
    made = arena(bound, 40, scattered=5)
    spans = [made.span(index) for index in range(40)]
    assert spans != sorted(spans)
    assert all(end <= start for (_, end), (start, _) in pairwise(sorted(spans)))
    ordered = sorted(start for start, _ in spans)
    assert len({b - a for a, b in pairwise(ordered)}) > 1, "distances differ"
    assert [s.offset for s in made.slots] == [s.offset for s in arena(bound, 1).slots]


@pytest.mark.parametrize(
    ("slot", "bytes_off", "words"),
    [
        (0, -1, "before the start of `a0`"),
        (0, 2400, "behind the end of `a0`"),
        (1, -3, "before the start of `a1`"),
        (1, 2400 + 7, "behind the end of `a1`"),
        (1, 0, ""),
    ],
)
def test_a_byte_beside_an_array_is_told_by_the_array_and_its_side(
    slot: int, bytes_off: int, words: str
) -> None:
    made = arena(contract([([600], 16, "float32")] * 2), 3, flush="before")
    assert made.beside(made.span(1)[0] + made.slots[slot].offset + bytes_off) == words


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


@given(ARRAYS, st.integers(1, 3), st.integers(0, 99))
def test_a_placement_keeps_to_the_declared_alignment_between_guards_of_a_page(
    arrays: list[tuple[list[int], int, str]], sets: int, seed: int
) -> None:
    bound = contract(arrays)
    made = placed_arena(bound, sets, seed)
    aligns = {array.name: array.argument.align for array in bound.arrays}
    assert {s.name: s.nbytes for s in made.slots} == {a.name: a.nbytes for a in bound.arrays}
    for index in range(sets):
        assert all(end - start >= GUARD for start, end in made.guards(index))
        starts = [(s.name, made.span(index)[0] + s.offset) for s in made.slots]
        assert all(start % aligns[name] == 0 for name, start in starts)


def test_placements_are_as_page_allocations_as_a_c_library_and_as_anything_allowed() -> None:
    bound = contract([([5000], 16, "float32")] * 3)
    drawn = [placed_arena(bound, 2, seed) for seed in range(60)]
    assert drawn[7] == placed_arena(bound, 2, 7)
    offsets = [{slot.offset % PAGE for slot in made.slots} for made in drawn]
    assert {0} in offsets, "on pages"
    assert {16} in offsets, "behind the header of a large malloc"
    anywhere = [each for each in offsets if each not in ({0}, {16})]
    assert 10 <= len(anywhere) <= 30
    assert any(len(each) == 3 for each in anywhere), "each array at an offset of its own"


def test_no_header_moves_an_array_that_promises_more_alignment() -> None:
    bound = contract([([5000], 64, "float32")] * 2)
    starts = [s.offset for seed in range(40) for s in placed_arena(bound, 1, seed).slots]
    assert {start % 64 for start in starts} == {0}
    assert len({start % PAGE for start in starts}) > 5
