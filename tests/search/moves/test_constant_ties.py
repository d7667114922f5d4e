"""Constants that a launch or the rest of a source ties down are not turned alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from idiom_sources import SOURCES, array, scalar

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.model import BuildOptions
from kernelwright.search.applying.apply import apply
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.cuda.idioms import row_in_registers, transpose_tile
from kernelwright.search.moves.every_language.sweep_constants import MOVE as SWEEP
from kernelwright.search.moves.every_language.tune_constants import MOVE
from kernelwright.search.moves.shared.constant_ties import broken

BODY = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = x[i] * {};\n"


def state(
    head: str,
    used: str,
    *,
    block: Any = 64,
    grid: Any = "cdiv(n, 64)",
    more: str = "",
    shared: int | str = 0,
    **defines: int,
) -> State:
    """A kernel with some lines above, `used` in its body, and a plan that defines names."""
    text = f'{head}\nextern "C" __global__ void {more} f(const float* x, float* y, int n) {{\n'
    plan = {
        "steps": [{"launch": "f", "grid": [grid], "block": [block], "shared": shared}],
        "defines": defines,
    }
    kernel = load_data(
        {
            "name": "f",
            "kernel": {
                "kernel_type": "cuda",
                "source_code": text + BODY.format(used) + "}\n",
                "metadata": {"kernel_name": "f"},
                "plan": plan,
            },
            "io": {"arguments": [array("x", "input", "n"), array("y", "output", "n"), scalar("n")]},
            "symbols": {"n": {"min": 1, "max": 4096}},
            "workloads": [{"name": "w", "symbols": {"n": 4096}}],
            "reference": "baseline",
        },
        Path("."),
        Roots([Path(".")]),
    )
    return State("cuda", kernel.baseline().source, {}, BuildOptions(), kernel.spec, plan)


def offered(start: State) -> set[str]:
    found = MOVE.propose(start)
    return set() if isinstance(found, NotApplicable) else {c.detail for c in found}


def test_a_constant_whose_number_stands_in_the_launch_is_not_offered() -> None:
    head = "#define BLOCK_SIZE 64\nconstexpr int kUnroll = 4;"
    details = offered(state(head, "BLOCK_SIZE * kUnroll"))
    assert details == {f"kUnroll: 4 -> {value}" for value in (1, 2, 8, 16)}


def test_a_block_stays_whole_warps_and_within_what_a_gpu_can_launch() -> None:
    start = state("", "THREADS", block="THREADS", grid="cdiv(n, THREADS)", THREADS=512)
    assert offered(start) == {f"THREADS: 512 -> {value}" for value in (128, 256, 1024)}
    small = state("", "THREADS", block="THREADS", grid="cdiv(n, THREADS)", THREADS=32)
    assert offered(small) == {"THREADS: 32 -> 64", "THREADS: 32 -> 128"}


@pytest.mark.parametrize(
    ("bounds", "most"), [("256", 256), ("THREADS", 1024), ("THREADS * 1, 2", 1024)]
)
def test_launch_bounds_hold_unless_they_follow_the_constant(bounds: str, most: int) -> None:
    more = f"__launch_bounds__({bounds})"
    grid = "cdiv(n, THREADS)"
    start = state("", "THREADS", block="THREADS", grid=grid, more=more, THREADS=256)
    largest = max(int(detail.rsplit(" ", 1)[1]) for detail in offered(start) | {"now 256"})
    assert largest == most


def test_assertions_of_the_source_hold() -> None:
    head = (
        "constexpr int kTile = 16, side = kTile * 2;\n"
        'static_assert(side % 16 == 0 && side / 2 <= 32, "whole lines");'
    )
    assert offered(state(head, "side")) == {"kTile: 16 -> 8", "kTile: 16 -> 32"}


def test_shared_memory_suffices() -> None:
    start = state("#define TILE 96", "TILE; __shared__ float held[TILE][TILE + 1]; held[0][0] = n")
    assert offered(start) == {"TILE: 96 -> 48", "TILE: 96 -> 24", "TILE: 96 -> 192"}
    ring = state("#define STAGES 8", "STAGES", shared="STAGES * 24576", grid=1, STAGES=8)
    assert offered(ring) == {"STAGES: 8 -> 4", "STAGES: 8 -> 2"}


def test_what_does_not_hold_as_it_is_or_cannot_be_read_says_nothing() -> None:
    head = "#define TILE 8\nstatic_assert(TILE == 9);\nstatic_assert(sizeof(float) * TILE == 32);"
    assert offered(state(head, "TILE")) == {f"TILE: 8 -> {value}" for value in (2, 4, 16, 32)}


def test_a_sweep_keeps_values_that_may_fit_together_with_others() -> None:
    grid = "cdiv(n, THREADS)"
    head = "#define UNROLL 4\n#define STEPS 512"
    start = state(head, "UNROLL * STEPS", block=512, grid=grid, THREADS=512)
    found = SWEEP.propose(start)
    assert not isinstance(found, NotApplicable)
    assert found[0].knobs == {"UNROLL": (1, 2, 4, 8, 16), "THREADS": (128, 256, 512, 1024, 2048)}


def test_rows_in_registers_bring_bounds_that_follow_their_threads() -> None:
    source = next(s for s in SOURCES.values() if "row_in_registers" in s.moves)
    found = row_in_registers.MOVE.propose(source.state())
    assert not isinstance(found, NotApplicable)
    for candidate in found:
        after = apply(candidate, source.state())
        assert after.plan is not None and not broken(after)
        threads = after.plan["defines"].get("ROW_THREADS")
        details = {d.split(":")[0] for d in offered(after)}
        assert ("ROW_THREADS" in details) == ("__launch_bounds__(ROW_THREADS)" in after.source)
        assert threads is None or threads > 32


def test_of_a_transpose_by_vectors_only_what_it_can_be_cut_into_is_offered() -> None:
    source = next(s for s in SOURCES.values() if "transpose_tile" in s.moves)
    found = transpose_tile.MOVE.propose(source.state())
    assert not isinstance(found, NotApplicable)
    for candidate in (c for c in found if c.knobs and "TILE_VECTORS" in c.knobs):
        after = apply(candidate.model_copy(update={"knobs": None}), source.state())
        sides = {d for d in offered(after) if not d.startswith("TILE_GROUP")}
        assert sides <= {"TILE_VECTORS: 16 -> 8", "TILE_VECTORS: 16 -> 32"}
