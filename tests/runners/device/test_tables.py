"""Tables for the device: what they cover, and the law of the digest. No GPU is needed."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.device.handover import laid_out
from kernelwright.runners.device.tables import CHUNK, Elements, cut, digest_words, digested, pieces

SHAPES = st.lists(st.integers(1, 5), min_size=1, max_size=4)
KEYS = (0x0123456789ABCDEF, 0xFEDCBA9876543210)


def array_of(shape: list[int], order: list[int], pad: int, itemsize: int) -> Elements:
    """Elements of a shape whose axes lie in some order, each with some elements to spare."""
    strides, step = [0] * len(shape), 1
    for axis in order:
        strides[axis] = step
        step *= shape[axis] + pad
    return Elements(tuple(shape), tuple(strides), itemsize)


@st.composite
def arrays(draw: st.DrawFn) -> Elements:
    shape = draw(SHAPES)
    order = draw(st.permutations(range(len(shape))))
    return array_of(shape, order, draw(st.integers(0, 2)), draw(st.sampled_from([1, 2, 4, 8])))


def view(memory: npt.NDArray[np.uint8], elements: Elements) -> npt.NDArray[Any]:
    """The elements in memory, each as its bytes."""
    steps = tuple(s * elements.itemsize for s in elements.strides)
    size = elements.itemsize
    return np.lib.stride_tricks.as_strided(memory, (*elements.shape, size), (*steps, 1))


def gathered(memory: npt.NDArray[np.uint8], row: npt.NDArray[Any]) -> bytes:
    """What support.cu's `gather` makes of a row that starts at 0: its arithmetic, in Python."""
    found, dims = bytearray(), int(row["dims"][0])
    for number in range(int(row["count"][0])):
        rest, at = number, int(row["start"][0])
        for axis in reversed(range(dims)):
            size = int(row["sizes"][0, axis])
            at += rest % size * int(row["strides"][0, axis])
            rest //= size
        found += memory[at : at + int(row["itemsize"][0])].tobytes()
    return bytes(found)


def is_gap(offset: int, row: npt.NDArray[Any]) -> bool:
    """What support.cu's `gaps` takes for a gap: its arithmetic, in Python."""
    rest = offset
    for axis in range(int(row["dims"][0])):
        stride, size = int(row["strides"][0, axis]), int(row["sizes"][0, axis])
        rest -= min(rest // stride, size - 1) * stride
    return rest >= int(row["itemsize"][0])


@given(st.lists(st.integers(0, 5 * CHUNK), max_size=4))
def test_chunks_tile_their_spans_and_only_the_last_of_each_is_no_multiple_of_16(
    sizes: list[int],
) -> None:
    row, offset, nbytes = (each.tolist() for each in cut(np.array(sizes, dtype=np.uint64)))
    for number, size in enumerate(sizes):
        mine = [(at, n) for r, at, n in zip(row, offset, nbytes, strict=True) if r == number]
        ends = [0, *(at + n for at, n in mine)]
        assert [at for at, _ in mine] == ends[:-1]
        assert ends[-1] == size
        assert all(n % 16 == 0 for (_, n), _ in pairwise(mine))


def test_moves_keep_target_and_source_in_step_and_fills_have_no_source() -> None:
    rows = pieces([(0, 1 << 40, CHUNK + 5, 0), (1 << 30, 0, 2 * CHUNK, 7)])
    assert rows["target"].tolist() == [0, CHUNK, 1 << 30, (1 << 30) + CHUNK]
    assert rows["source"].tolist() == [1 << 40, (1 << 40) + CHUNK, 0, 0]
    assert rows["nbytes"].tolist() == [CHUNK, 5, CHUNK, CHUNK]
    assert rows["pattern"].tolist() == [0, 0, 7, 7]


@given(arrays(), st.randoms())
def test_a_row_gathers_elements_in_row_major_order(elements: Elements, random: Any) -> None:
    memory = np.frombuffer(random.randbytes(elements.span), dtype=np.uint8)
    row = elements.row(0, 0, 0, 0, falling=False)
    assert gathered(memory, row) == view(memory, elements).tobytes()


@given(arrays())
def test_gaps_are_the_bytes_that_no_element_has(elements: Elements) -> None:
    owned = np.zeros(elements.span, dtype=np.uint8)
    view(owned, elements)[...] = 1
    row = elements.row(0, 0, 0, 0, falling=True)
    assert [not is_gap(i, row) for i in range(elements.span)] == owned.astype(bool).tolist()
    assert elements.gapless == bool(owned.all())


@given(arrays(), st.randoms())
def test_what_is_handed_over_lies_where_the_contract_has_it(
    elements: Elements, random: Any
) -> None:
    dense = np.frombuffer(random.randbytes(elements.nbytes), dtype=np.uint8)
    laid = laid_out(dense, elements.shape, elements.strides, elements.itemsize, elements.span)
    assert laid.size == elements.span
    assert view(laid, elements).tobytes() == dense.tobytes()
    assert int(laid.sum(dtype=np.int64)) == int(dense.sum(dtype=np.int64)), "zeros between them"


def test_an_array_without_elements_has_no_bytes() -> None:
    elements = Elements((3, 0, 2), (0, 2, 1), 4)
    assert (elements.count, elements.nbytes, elements.span) == (0, 0, 0)


@given(st.binary(max_size=200), st.lists(st.integers(1, 60), max_size=5))
def test_a_digest_is_the_sum_of_the_digests_of_its_pieces(data: bytes, cuts: list[int]) -> None:
    total = [0, 0]
    at = 0
    for size in [*(4 * c for c in cuts), len(data)]:
        part = bytes(at) + data[at : at + size]
        for lane, value in enumerate(digest_words(part, KEYS)):
            total[lane] = (total[lane] + value) % 2**64
        at += len(data[at : at + size])
    assert tuple(total) == digest_words(data, KEYS)


@given(st.binary(min_size=1, max_size=200), st.data())
def test_one_changed_bit_changes_both_lanes(data: bytes, choice: st.DataObject) -> None:
    position = choice.draw(st.integers(0, len(data) - 1))
    changed = bytearray(data)
    changed[position] ^= 1 << choice.draw(st.integers(0, 7))
    before, after = digest_words(data, KEYS), digest_words(bytes(changed), KEYS)
    assert before[0] != after[0]
    assert before[1] != after[1]


@given(st.binary(min_size=8, max_size=64))
def test_words_in_another_order_have_another_digest(data: bytes) -> None:
    words = [data[i : i + 4] for i in range(0, len(data) - len(data) % 4, 4)]
    swapped = b"".join([words[1], words[0], *words[2:]])
    same = digest_words(b"".join(words), KEYS) == digest_words(swapped, KEYS)
    assert same == (words[0] == words[1])


def test_digests_of_large_arrays_count_their_words_on() -> None:
    rows = digested([(4096, CHUNK + 8, 100, 3)])
    assert rows["first"].tolist() == [100, 100 + CHUNK // 4]
    assert rows["start"].tolist() == [4096, 4096 + CHUNK]
    assert rows["result"].tolist() == [3, 3]
