"""Transposes by tiles of vectors: right wherever rows end, and free of bank conflicts."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cuda_moves import PretendedLab, after, array, candidates, cuda_state, scalar
from tiers import cases

from kernelwright.runners.model import Candidate
from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.idioms.parts.writing import template
from kernelwright.search.moves.cuda.idioms.transpose_tile import MOVE

TYPES = {"float32": "float", "uint16": "unsigned short", "uint8": "unsigned char",
         "float64": "double"}  # fmt: skip
SIZES = {"rows": {"min": 1, "max": 32768}, "cols": {"min": 1, "max": 32768}}
SHAPES = ((1, 1), (16, 16), (7, 131), (48, 80), (130, 66), (272, 144), (131, 128), (128, 131))
"""whole vectors on both sides, on one, on none; tiles that end within"""


def transposed(dtype: str = "float32", align: int = 256) -> State:
    of = TYPES[dtype]
    source = f"""\
extern "C" __global__ void f(const {of}* x, {of}* y, int rows, int cols) {{
    int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
    if (r < rows && c < cols) y[c * rows + r] = x[r * cols + c];
}}
"""
    arguments = [
        array("x", "input", "rows", "cols", dtype=dtype, align=align),
        array("y", "output", "cols", "rows", dtype=dtype),
        scalar("rows"),
        scalar("cols"),
    ]
    launch = {"grid": ["cdiv(cols, 16)", "cdiv(rows, 16)"], "block": [16, 16]}
    return cuda_state(source, "f", arguments, launch, SIZES)


def by_vectors(state: State) -> dict[str, Candidate]:
    return {c.detail.split(", ")[1]: c for c in candidates(MOVE, state) if "vectors" in c.detail}


CASES = (
    ("float32", "4 vectors of 16 bytes a thread"),
    ("float32", "2 vectors of 8 bytes a thread"),
    ("uint16", "8 vectors of 16 bytes a thread"),
    ("uint16", "4 vectors of 8 bytes a thread"),
    ("uint8", "16 vectors of 16 bytes a thread"),
    ("uint8", "8 vectors of 8 bytes a thread"),
    ("float64", "2 vectors of 16 bytes a thread"),
)


@pytest.mark.parametrize(("dtype", "how"), CASES)
@cases(
    "group",
    [1, 3, 16],
    why="further groups of tiles",
)
def test_a_transpose_by_vectors_is_right_wherever_rows_end(
    lab: PretendedLab, dtype: str, how: str, group: int
) -> None:
    state = transposed(dtype)
    candidate = by_vectors(state)[how]
    assert candidate.plan is not None
    knobs, only = candidate.knobs or {}, candidate.plan["defines"]["TILE_VECTORS"]
    spans = knobs.get("TILE_VECTORS", (only,))
    defines = {"TILE_GROUP": group, "TILE_VECTORS": spans[-1 if group == 1 else 0]}
    plan = {**candidate.plan, "defines": defines}
    found = after(state, candidate.model_copy(update={"plan": plan}))
    rng = np.random.default_rng(1)
    runs = [
        ({"rows": r, "cols": c}, {"x": rng.integers(0, 251, (r, c)).astype(dtype)})
        for r, c in SHAPES
    ]
    for (_, given), outputs in zip(runs, lab.outputs(found, *runs), strict=True):
        assert np.array_equal(outputs["y"], given["x"].T.ravel())


def test_addresses_decide_how_wide_vectors_are() -> None:
    assert set(by_vectors(transposed(align=8))) == {"2 vectors of 8 bytes a thread"}
    assert not by_vectors(transposed(align=4))
    assert candidates(MOVE, transposed(align=4))[0].detail.endswith("4 rows a thread")


def slots(lanes: int, width: int, span: int, i: int) -> dict[str, list[int]]:
    """Where the threads of a block store and load their vector `i`, as the template has it."""
    text = template("transpose_vectors.cu").template
    stored, loaded = re.findall(r"slots\[(.*)\]", text)
    found: dict[str, list[int]] = {"stored": [], "loaded": []}
    for thread in range(span * span):
        across, down = thread % span, thread // span
        names = {"elements": lanes, "span": span, "units": 128 // width, "i": i, "across": across,
                 "down": down, "c": i * span + down}  # fmt: skip
        for how, expression in (("stored", stored), ("loaded", loaded)):
            found[how].append(eval(expression.replace("/", "//"), {}, names))
    return found


@pytest.mark.parametrize(
    ("nbytes", "width", "span"),
    [
        *((4, 16, 16), (4, 16, 8), (4, 8, 16), (2, 16, 16)),
        *((2, 16, 8), (1, 16, 8), (1, 8, 16), (8, 16, 16)),
    ],
)
def test_lanes_that_go_at_one_time_touch_every_bank_once(
    nbytes: int, width: int, span: int
) -> None:
    lanes, words, phase = width // nbytes, width // 4, 128 // width
    everything: dict[str, list[int]] = {"stored": [], "loaded": []}
    for i in range(lanes):
        for how, places in slots(lanes, width, span, i).items():
            everything[how] += places
            for start in range(0, len(places), phase):  # 128 bytes go at one time
                together = places[start : start + phase]
                banks = sorted((slot * words + w) % 32 for slot in together for w in range(words))
                assert banks == list(range(32)), (how, i, start)
    for places in everything.values():  # and each slot of the tile is used, by one thread
        assert sorted(places) == list(range(lanes * span * span))
