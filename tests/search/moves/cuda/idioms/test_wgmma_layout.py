"""What TMA writes into shared memory is what wgmma reads there, by models of both in numpy.

The models are written from documents, not from the kernel; offsets, descriptors, instructions and
coordinates are those of the generated source, evaluated here. Sources:

- TMA: `cuTensorMapEncodeTiled` (CUDA driver API): fastest dimension first, strides in bytes, what
  is out of bounds is 0. PTX ISA, "Tensor swizzling modes": with 128 bytes, bits 4 to 6 of an
  address are exclusive-ored with bits 7 to 9. The barrier counts whole boxes.
- Descriptors: PTX ISA, "Matrix descriptor format" of wgmma: start, leading and stride offset in
  units of 16 bytes at bits 0, 16, 32 (14 bits each), base offset at 49 (3 bits), swizzle at 62.
- Operands: PTX ISA, "Canonical layouts" with the 128-byte swizzle, in units of elements with T = 8:
  K-major ((8,m),(T,2k)):((8T,SBO),(1,T)), MN-major ((T,8,m),(8,k)):((1,T,LBO),(8T,SBO)).
- Sums: PTX ISA, "Register fragments" of wgmma.mma_async.m64nNk16, accumulator D.

Triton 3.6 emits the same descriptors and transposition for both layouts of B on sm_90a.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from idiom_sources import TENSOR

from kernelwright.runners.model import Candidate
from kernelwright.runners.specs.expressions import evaluate_int
from kernelwright.search.moves import NotApplicable
from kernelwright.search.moves.cuda.idioms import MOVES

MOVE = next(move for move in MOVES if move.id == "hgemm_wgmma")
STEP, ROOM = 64, 0x8400
"""columns of A a stage; where the first stage begins, a multiple of 1024 and of no more"""
SHARED, REGISTERS = 232448, 65536
"""of a block and of a multiprocessor of compute capability 9.0"""
Floats = npt.NDArray[np.float32]
Bytes = npt.NDArray[np.uint8]


def proposed(what: str) -> tuple[Candidate, ...]:
    found = MOVE.propose(TENSOR[what].state())
    assert not isinstance(found, NotApplicable), found.reason
    return found


CASES = [(what, number) for what in TENSOR for number in range(3)]


@dataclass(frozen=True)
class Written:
    """A candidate's source and plan, and the numbers of both."""

    source: str
    plan: Mapping[str, Any]

    @property
    def columns(self) -> int:
        """Of a tile."""
        return int(self.found(r"wgmma\.mma_async\.sync\.aligned\.m64n(\d+)k16")[0])

    @property
    def constants(self) -> dict[str, int]:
        """The source's `constexpr` numbers, and the plan's."""
        known = dict[str, int](self.plan["defines"])
        for line in re.findall(r"constexpr (?:int|unsigned) ([^;]+);", self.source):
            for name, value in re.findall(r"(\w+) = ([^,]+)", line):
                known[name] = number(value, known)
        return known

    def found(self, pattern: str) -> tuple[str, ...]:
        """The groups of a pattern that stands once in the source."""
        (match,) = re.finditer(pattern, self.source)
        return match.groups()

    @property
    def launch(self) -> Mapping[str, Any]:
        (step,) = [s for s in self.plan["steps"] if "launch" in s]
        return step

    def tensor_map(self, name: str, sizes: Mapping[str, int]) -> dict[str, Any]:
        """A tensor map for sizes; the kernel's maps are its last two parameters."""
        raw = self.launch["args"][-2:][("left_map", "right_map").index(name)]["tensormap"]
        lists = {k: [evaluate_int(x, sizes) for x in raw[k]] for k in ("dims", "strides", "box")}
        return {**raw, **lists}


def number(text: str, names: Mapping[str, int]) -> int:
    """A C++ expression over numbers that are not negative."""
    plain = re.sub(r"\(unsigned long long\)|ull\b|(?<=\d)u\b", "", text)
    return int(eval(plain.replace("/", "//"), {"min": min}, dict(names)))


def written(what: str, at: int) -> Written:
    candidate = proposed(what)[at]
    assert candidate.source is not None and candidate.plan is not None
    return Written(candidate.source, candidate.plan)


def swizzled(address: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return address ^ (address >> 7 & 7) << 4


def loaded(memory: Bytes, to: int, of: Mapping[str, Any], matrix: Floats, x: int, y: int) -> int:
    """TMA: a box of a matrix of 16-bit elements, first at (x, y), to shared memory; its bytes."""
    width, height = of["box"]
    assert of["swizzle"] == 3 and width * 2 == 128 and max(of["box"]) <= 256 and to % 1024 == 0
    assert (*of["dims"][::-1],) == matrix.shape and of["strides"] == [2 * matrix.shape[1]]
    assert of["strides"][0] % 16 == 0
    box = np.zeros((height, width), np.float16)
    part = matrix[y : y + height, x : x + width]
    box[: part.shape[0], : part.shape[1]] = part
    raw = box.view(np.uint8).ravel()
    memory[swizzled(to + np.arange(raw.size))] = raw
    return raw.size


def operand(memory: Bytes, descriptor: int, rows: int, transposed: bool) -> Floats:
    """wgmma: `rows` of M or N by 16 of k, from shared memory."""
    start, leading, stride = ((descriptor >> at & 0x3FFF) << 4 for at in (0, 16, 32))
    assert descriptor >> 62 == 1 and descriptor >> 49 & 7 == 0
    row, k = np.mgrid[:rows, :16]
    if transposed:
        offset = row % 64 * 2 + row // 64 * leading + k % 8 * 128 + k // 8 * stride
    else:
        offset = row % 8 * 128 + row // 8 * stride + k * 2
    at = swizzled((start + offset).astype(np.int64))
    halves = memory[at].astype(np.uint16) | memory[at + 1].astype(np.uint16) << 8
    return halves.view(np.float16).astype(np.float32)


def loads(text: Written, names: Mapping[str, int]) -> Iterator[tuple[str, int, int, int]]:
    """The tensor loads of a stage: map, where to, x, y."""
    loop, load = (
        r"for \(int j = 0; j < (\d+); \+\+j\)\s+",
        r"([^,]+), &(\w+), ([^,]+), ([^,]+), bar",
    )
    call = rf"(?:{loop})?tensor_load\({load}\)"
    for times, to, of, x, y in re.findall(call, text.source):
        for j in range(int(times or 1)):
            each = {**names, "j": j}
            yield of, number(to, each), number(x, each), number(y, each)


def descriptor(text: Written, which: str, names: Mapping[str, int]) -> int:
    """A descriptor that the source makes."""
    tile, leading, stride = text.found(
        rf"{which} =\s+descriptor\(([^,]+(?:\* \d+)?), (\d+), (\d+)\);"
    )
    (made,) = text.found(r"unsigned stride\) \{\s+return ([^;]+);")
    fields = {"tile": number(tile, names), "leading": int(leading), "stride": int(stride)}
    return number(made.replace("\n", " "), fields)


@pytest.mark.parametrize(("what", "at"), CASES)
@pytest.mark.parametrize("first", [(0, 0, 0), (128, 1, 1)], ids=["whole", "tails"])
def test_a_stage_holds_the_operands_that_its_descriptors_name(
    what: str, at: int, first: tuple[int, int, int]
) -> None:
    text = written(what, at)
    known = text.constants
    m_first, n_tile, step = first
    n_first, wide = n_tile * text.columns, text.columns
    sizes = {"M": 168, "N": text.columns + 40, "K": 88}
    random = np.random.default_rng(1)
    a = random.integers(-4, 5, (sizes["M"], sizes["K"])).astype(np.float32)
    b = random.integers(-4, 5, (sizes["K"], sizes["N"])).astype(np.float32)
    kind, a_scale, b_scale, a_transposed, b_transposed = text.found(
        r"m64n\d+k16\.f32\.(\w+\.\w+) \{[^}]+\}, %\d+, %\d+, p, (\d), (\d), (\d), (\d);"
    )
    assert kind == ("bf16.bf16" if what.startswith("bf16") else "f16.f16")
    assert (a_scale, b_scale, a_transposed) == ("1", "1", "0")
    transposed = b_transposed == "1"

    memory = np.full(SHARED, 0x7E, np.uint8)  # NaN, if anything else is read
    stage = ROOM + known["WGMMA_A_BYTES"] + known["WGMMA_B_BYTES"]
    names = {**known, "a_tile": stage, "k": step * STEP, "m_first": m_first, "n_first": n_first}
    matrices = {"left_map": a, "right_map": b if transposed else b.T}
    counted = 0
    for of, to, x, y in loads(text, names):
        counted += loaded(memory, to, text.tensor_map(of, sizes), matrices[of], x, y)
    assert counted == number(text.found(r"barrier_expect\(bar, ([^)]+)\)")[0], known)

    a_step, b_step = text.found(r"wgmma_step\(d, a_at \+ (\d+) \* k, b_at \+ (\d+) \* k,")
    for warpgroup in range(known["WGMMA_CONSUMERS"]):
        here = {**names, "warpgroup": warpgroup}
        a_at, b_at = descriptor(text, "a_at", here), descriptor(text, "b_at", here)
        total = np.zeros((64, wide), np.float32)
        for k in range(STEP // 16):
            left = operand(memory, a_at + int(a_step) * k, 64, False)
            right = operand(memory, b_at + int(b_step) * k, wide, transposed)
            total += left @ right.T
        rows, columns = slice(m_first + 64 * warpgroup, None), slice(n_first, n_first + wide)
        along = slice(step * STEP, (step + 1) * STEP)
        right_sum = a[rows, along][:64] @ b[along, columns]
        expected = np.zeros_like(total)
        expected[: right_sum.shape[0], : right_sum.shape[1]] = right_sum
        np.testing.assert_array_equal(total, expected)


def held(thread: Any, register: Any) -> tuple[Any, Any]:
    """Row and column of D's 64 x N that a register of a warpgroup's thread has."""
    row = thread // 32 * 16 + thread % 32 // 4 + register // 2 % 2 * 8
    return row, register // 4 * 8 + thread % 4 * 2 + register % 2


@pytest.mark.parametrize(("what", "at"), CASES)
def test_every_sum_is_stored_once_and_where_it_belongs(what: str, at: int) -> None:
    text = written(what, at)
    grid: Any = np.mgrid[:256, :2, : text.columns // 8]
    thread, eight, j = grid
    lane, warp, warpgroup = thread % 32, thread % 128 // 32, thread // 128
    here: dict[str, Any] = {"m_first": 128, "n_first": 0, "lane": lane, "warp": warp}
    here |= {"warpgroup": warpgroup, "eight": eight, "j": j}
    for name in ("m_own", "n_own"):
        here[name] = evaluated(text.found(rf"const int {name} = ([^;]+);")[0], here)
    m = evaluated(text.found(r"const int m = (m_own[^;]+);")[0], here)
    if "store_pair(" in text.source:
        n = evaluated(text.found(r"const int n = (n_own \+ j[^;]+);")[0], here)
        (register,) = text.found(r"epilogue\(d\[([^]]+)\], m, n\),")
        stored: list[Any] = [(n + i, thread, evaluated(register, here) + i) for i in range(2)]
    else:  # of even j alone, four elements a lane, two of them from its neighbour
        n, register = text.found(r"const int n = (n_own[^,]+), at = ([^;]+);")
        pairs = [[evaluated(x, {**here, "i": i}) for x in (n, register)] for i in range(2)]
        (n_four,) = text.found(r"const int odd = lane % 2, n = ([^;]+);")
        odd = lane % 2
        first = evaluated(n_four, {**here, "odd": odd})
        assert (first[:, :, ::2] % 4 == 0).all()
        assert text.found(r"(odd \? pairs\[0\] : pairs\[1\], 1)")
        assert text.found(
            r"(odd \? make_uint2\(other, pairs\[1\]\) : make_uint2\(pairs\[0\], other\))"
        )
        for column, own in pairs:
            row_held, column_held = held(thread % 128, own)
            assert (row_held + warpgroup * 64 + 128 == m).all() and (column_held == column).all()
        own = pairs[0][1] + odd * (pairs[1][1] - pairs[0][1])
        left = thread - odd
        right = left + 1
        stored = [(first + i, left, own + i) for i in range(2)]
        stored += [(first + 2 + i, right, own + i) for i in range(2)]
        m, stored = m[:, :, ::2], [tuple(x[:, :, ::2] for x in each) for each in stored]
    seen: Any = np.zeros((256, text.columns), int)
    for column, owner, register in stored:
        row_held, column_held = held(owner % 128, register)
        assert (row_held + owner // 128 * 64 + 128 == m).all()
        assert (column_held == column).all()
        np.add.at(seen, (m, column), 1)
    assert (seen[128:] == 1).all() and not seen[:128].any()


def evaluated(text: str, names: Mapping[str, Any]) -> Any:
    """A C++ expression over arrays of numbers that are not negative."""
    return eval(text.replace("/", "//"), {}, dict(names))


@pytest.mark.parametrize(("what", "at"), CASES[:1])
@given(rows=st.integers(1, 40), columns=st.integers(1, 9), group=st.sampled_from((4, 8, 16, 32)))
def test_each_tile_has_one_number(what: str, at: int, rows: int, columns: int, group: int) -> None:
    text = written(what, at)
    (body,) = text.found(r"auto tile_at = [^{]+\{([^}]+)\}")
    found = set[tuple[int, int]]()
    for tile in range(rows * columns):
        names = {**text.constants, "tile_rows": rows, "tile_columns": columns, "number": tile}
        names["GROUP"] = group
        for name, value in re.findall(r"(\w+) = ([^;]+?)(?=, \w+ =|;)", body):
            names[name] = number(value, names)
        found.add((names["m_first"], names["n_first"]))
    wide = text.columns
    assert found == {(m * 128, n * wide) for m in range(rows) for n in range(columns)}
    assert len(found) == rows * columns


@pytest.mark.parametrize(("what", "at"), CASES)
def test_a_block_fits_the_multiprocessor(what: str, at: int) -> None:
    text = written(what, at)
    known = text.constants
    threads, blocks = text.found(r"__launch_bounds__\((\d+), (\d+)\) f\(")
    assert threads == "384" and blocks == "1"
    at_start = REGISTERS // 384 // 8 * 8 * 3  # of three warpgroups, in units of 128 registers
    less, more = (
        int(text.found(rf"setmaxnreg\.{x}\.sync\.aligned\.u32 (\d+);")[0]) for x in ("dec", "inc")
    )
    assert less % 8 == more % 8 == 0 and 24 <= less < more <= 256
    assert less + known["WGMMA_CONSUMERS"] * more <= at_start
    assert more >= text.columns // 2 + 32  # the sums, and addresses
    stages = known["WGMMA_STAGES"]
    shared = evaluate_int(text.launch["shared"], known)
    assert stages * (known["WGMMA_A_BYTES"] + known["WGMMA_B_BYTES"]) + 1023 <= shared
    assert shared + 16 * stages <= SHARED
