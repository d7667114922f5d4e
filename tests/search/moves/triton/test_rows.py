"""Several rows a program: what is loaded once, what is refused, and that results stay the same."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tiers import cases
from triton_bench import DEVICE, TritonBench, variant
from triton_moves import SPECS, applied, chain, changes, proposals, reason, state
from triton_stencils import FILLED, FORMS, NESTED, STENCIL, SUMS, needs_interpreter, sized

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.toolchains import BuildRequest, Shape
from kernelwright.search.moves.shared.base import State


def filled(**changes: Any) -> State:
    return state("stencil_triton", FILLED, reference={"source_code": SUMS}, **changes)


def test_a_row_that_neighbours_load_is_loaded_once_before_the_first_store() -> None:
    assert changes("stencil_triton", "several_rows", 5) == [
        "-    row = tl.program_id(0)",
        "+    row = tl.program_id(0) * 2",
        "+    row_1 = row + 1",
        "+    at_1 = row_1 * cols + col",
        "+    interior_1 = (row_1 > 0) & (row_1 < rows - 1) & (col > 0) & (col < cols - 1)",
        "+    here_1 = tl.load(u + at_1, mask=(col < cols) & (row_1 < rows))",
        "-    below = tl.load(u + at + cols, mask=interior)",
        "+    below_1 = tl.load(u + at_1 + cols, mask=interior_1)",
        "+    left_1 = tl.load(u + at_1 - 1, mask=interior_1)",
        "-    mean = 0.25 * (above + below + left + right)",
        "+    right_1 = tl.load(u + at_1 + 1, mask=interior_1)",
        "+    mean = 0.25 * (above + here_1 + left + right)",
        "+    mean_1 = 0.25 * (here + below_1 + left_1 + right_1)",
        "+    tl.store(out + at_1, tl.where(interior_1, mean_1, here_1), "
        "mask=(col < cols) & (row_1 < rows))",
        "-    stencil_kernel[(rows, triton.cdiv(cols, BLOCK))](u, out, rows, cols, BLOCK=BLOCK)",
        "+    stencil_kernel[(triton.cdiv(rows, 2), triton.cdiv(cols, BLOCK))]"
        "(u, out, rows, cols, BLOCK=BLOCK)",
    ]


def test_blocks_have_an_element_a_thread_first() -> None:
    found = proposals("several_rows", state("stencil_triton"))
    assert [c.parameters for c in found] == [{"BLOCK": 128}, None] * 3
    assert [c.detail.split()[0] for c in found] == ["4", "4", "8", "8", "2", "2"]


def test_masks_of_which_neither_holds_wherever_the_other_does_are_joined() -> None:
    assert [c.detail[0] for c in proposals("several_rows", filled())] == ["4", "4", "8", "8"], (
        "of two rows none loads what the other one does"
    )
    source = proposals("several_rows", filled())[1].source or ""
    lines = [line.strip() for line in source.splitlines()]
    joined = "(up_2 & (row_2 < rows)) | down"
    assert f"above_2_loaded = tl.load(u + begin_2 - cols + col, mask={joined}, other=0.0)" in lines
    assert "above_2 = tl.where(up_2, above_2_loaded, 0.0)" in lines
    assert "below = tl.where(down, above_2_loaded, 0.0)" in lines


def test_comments_and_loads_within_expressions_stay_readable() -> None:
    found = proposals("several_rows", state("stencil_triton", NESTED))[5].source or ""
    for comment in ("# cells of a row", "# of the row", "# above and below first"):
        assert found.count(comment) == 1
    assert found.index("# cells of a row") < found.index("row = tl.program_id(0) * 2")
    assert "# above" in found
    assert len(re.findall(r"tl\.load\(", found)) == 8


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("    here = ", "    if rows > 1:\n        row = 0\n    here = ", "no straight line"),
        ("    here = ", "    col = col + 0\n    here = ", "assigns a name twice"),
        ("    here = ", "    n = tl.num_programs(0)\n    here = ", "more than load"),
        ("0.25 * (above", "tl.atomic_add(out, 1) * (above", "more than load"),
        ("0.25 * (above", "helper(u, above) * (above", "more than load"),
        ("mask=col < cols)\n    above", "mask=col < cols, volatile=True)\n    above", "volatile"),
        ("at - cols, mask=interior", "at - cols + tl.load(u), mask=interior", "what it loads"),
        ("(rows, triton", "(u.shape[0], triton", "whose size the kernel knows"),
        ("tl.program_id(0)", "tl.program_id(0) * 2", "several rows already"),
        ("row * cols + col", "(row * cols + col) % (rows * cols)", "is one of its neighbour's"),
        ("at + cols", "at + 1", "is one of its neighbour's"),
    ],
)
def test_kernels_of_another_form_are_refused_in_words(old: str, new: str, why: str) -> None:
    assert old in STENCIL
    changed = STENCIL.replace(old, new)
    if old == "at + cols":
        changed = changed.replace("at - cols", "at - 1")
    assert why in reason("several_rows", state("stencil_triton", changed))


def test_arrays_that_are_written_are_not_loaded_ahead() -> None:
    data = SPECS["stencil_triton"]["io"]
    inout = [{**a, "role": "inout"} if a["name"] == "u" else a for a in data["arguments"]]
    start = state("stencil_triton", io=data | {"arguments": inout})
    assert "no input of the contract" in reason("several_rows", start)


# --- results


SIZES = ((7, 130), (1, 1), (2, 5), (3, 129), (8, 128), (13, 300))


@needs_interpreter
@cases(
    "form",
    FORMS,
    why="further forms of the same kernel",
)
@cases(
    ("rows", "cols"),
    SIZES,
    why="further odd sizes, each form interpreted at each",
)
def test_uneven_rows_and_columns_come_out_the_same(
    bench: TritonBench, form: str, rows: int, cols: int
) -> None:
    kernel = load_data(sized(form, rows, cols), bench.folder, Roots([bench.folder]))
    bench.oracle.open(kernel)
    start = state("stencil_triton", FORMS[form][0])
    for each in proposals("several_rows", start)[::2]:
        found = applied(start, each)
        bench.must_pass(kernel, found)


@needs_interpreter
@pytest.mark.parametrize(("number", "rows"), [(0, 4), (2, 8), (4, 2)])
def test_each_row_is_loaded_once_in_the_ptx(bench: TritonBench, number: int, rows: int) -> None:
    found = chain("stencil_triton", f"several_rows:{number}")
    kernel = load_data(SPECS["stencil_triton"], bench.folder, Roots([bench.folder]))
    outcome = bench.builder.build(
        BuildRequest(
            kernel=kernel,
            variant=variant(kernel, found),
            shapes=tuple(Shape(label=w.name, symbols=w.symbols) for w in kernel.spec.workloads),
            device=DEVICE,
        )
    )
    assert outcome.artifact is not None, outcome.message
    (ptx,) = [m.sha256 for m in outcome.artifact.modules if m.kind == "ptx"]
    text = (bench.folder / "modules" / f"{ptx}.ptx").read_text(encoding="utf-8")
    assert len(re.findall(r"\bld\.global", text)) == rows + 2 + 2 * rows
