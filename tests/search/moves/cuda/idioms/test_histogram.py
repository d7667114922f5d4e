"""Histograms in shared memory whose next values are loaded ahead: right, and loads come first."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from cuda_moves import PretendedLab, after, array, candidates, compiles, cuda_state, scalar
from tiers import cases

from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.idioms.histogram_shared import MOVE
from kernelwright.search.moves.cuda.idioms.parts.writing import TEMPLATES

TYPES = {"uint8": "unsigned char", "int32": "int"}


def histogram(dtype: str, bins: int) -> State:
    source = f"""\
extern "C" __global__ void f(const {TYPES[dtype]}* values, unsigned* bins, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&bins[values[i]], 3);
}}
"""
    arguments = [
        array(
            "values", "input", "n", dtype=dtype, init={"kind": "randint", "low": 0, "high": bins}
        ),
        array("bins", "output", bins, dtype="uint32"),
        scalar("n"),
    ]
    steps = [
        {"fill": "bins", "pattern": "00000000"},
        {"launch": "f", "grid": ["cdiv(n, 256)"], "block": [256], "args": ["values", "bins", "n"]},
    ]
    return cuda_state(source, "f", arguments, {"steps": steps}, {"n": {"min": 1, "max": 1 << 20}})


def ahead(state: State, **defines: int) -> State:
    """The candidate that loads ahead, with other numbers in its plan."""
    first = candidates(MOVE, state)[0]
    assert first.detail.endswith("values loaded ahead") and first.plan is not None
    plan = {**first.plan, "defines": {**first.plan["defines"], **defines}}
    return after(state, first.model_copy(update={"plan": plan}))


@pytest.mark.parametrize("vectors", [1, 2, 4])
@cases(
    ("dtype", "bins", "copies"),
    [("uint8", 256, 32), ("int32", 101, 8), ("int32", 101, 1)],
    why="further numbers of loads ahead",
)
def test_each_value_is_counted_once_however_many_are_loaded_ahead(
    lab: PretendedLab, dtype: str, bins: int, copies: int, vectors: int
) -> None:
    small = {"HISTOGRAM_BLOCKS": 2, "HISTOGRAM_THREADS": 32, "HISTOGRAM_COPIES": copies}
    state = ahead(histogram(dtype, bins), HISTOGRAM_AHEAD=vectors, **small)
    rng = np.random.default_rng(1)
    runs = [
        ({"n": n}, {"values": rng.integers(0, bins, n).astype(dtype)})
        for n in (1, 15, 1024, 2048 + 17, 20_003)
    ]
    for (_, given), outputs in zip(runs, lab.outputs(state, *runs), strict=True):
        assert np.array_equal(outputs["bins"], 3 * np.bincount(given["values"], minlength=bins))


def test_the_first_values_are_on_their_way_before_counters_are_cleared(tmp_path: Path) -> None:
    ptx = compiles(ahead(histogram("uint8", 256)), tmp_path)
    found = re.findall(r"ld\.global\.nc\.v4|st\.shared\.v4|bar\.sync", ptx)
    assert found[:4] == ["ld.global.nc.v4"] * 2 + ["st.shared.v4", "bar.sync"]


def test_copies_of_a_bin_are_merged_four_a_read(tmp_path: Path) -> None:
    for candidate in candidates(MOVE, histogram("uint8", 256)):
        ptx = compiles(after(histogram("uint8", 256), candidate), tmp_path / candidate.detail)
        merging = ptx[ptx.rindex("bar.sync") :]
        reads = re.findall(r"ld\.shared\S*", merging)
        assert len(reads) == 8 and all(".v4." in read for read in reads)


def read_together(copies: int) -> list[list[int]]:
    """The banks that eight neighbouring lanes read at once, for each of a bin's parts."""
    merged = min(copies, 4)
    parts = copies // merged
    return [
        [
            ((lane * parts + (k + lane * parts // 8) % parts) * merged + word) % 32
            for lane in range(8)
            for word in range(merged)
        ]
        for k in range(parts)
    ]


@pytest.mark.parametrize("copies", [32, 16, 8, 4, 2, 1])
def test_lanes_that_merge_neighbouring_bins_read_different_banks(copies: int) -> None:
    assert all(len(set(banks)) == len(banks) for banks in read_together(copies))
    text = (TEMPLATES / "histogram_merge.cu").read_text(encoding="utf-8")
    assert "parts[bin * PARTS + (k + bin * PARTS / 8) % PARTS]" in text
