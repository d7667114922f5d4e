"""Rows made of vectors: what is loaded how, what is refused, and that results stay the same."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tiers import cases
from triton_bench import DEVICE, TritonBench, variant
from triton_moves import applied, chain, changes, loaded, proposals, reason, state
from triton_stencils import FORMS as PLAIN_FORMS
from triton_stencils import NESTED, STENCIL, needs_interpreter, sized

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.toolchains import BuildRequest, Shape
from kernelwright.search.moves.shared.base import NotApplicable
from kernelwright.search.moves.triton import rows_of_vectors
from kernelwright.search.moves.triton.parts.wide_copies import WideCopies
from kernelwright.search.moves.triton.several_rows import neighbours

HERE = "    here = tl.load(u + at, mask=col < cols)\n"
FILLED_SIDES = STENCIL.replace(
    "left = tl.load(u + at - 1, mask=interior)", "left = tl.load(u + at - 1, interior, 7.0)"
).replace("above = tl.load(u + at - cols, mask=interior)",
          "above = tl.load(u + at - cols, mask=interior, other=3.0)"
).replace("    mean = 0.25 * (above + below + left + right)\n",
          "    mean = 0.25 * (above + below + left + right)\n"
          "    shown = tl.where(interior, mean, here + 0.5 * (above + left) - 5.0)\n"
).replace("tl.where(interior, mean, here)", "shown")  # fmt: skip
"""its rim is right only where masked lanes have the values that the loads fill in"""


def source_of(text: str | None = None, number: int = 1) -> str:
    found = proposals("rows_of_vectors", state("stencil_triton", text))[number].source
    assert found is not None
    return found


def lines_of(text: str | None = None, number: int = 1) -> list[str]:
    return [line.strip() for line in source_of(text, number).splitlines()]


def test_rows_above_and_below_are_loaded_as_their_own_programs_load_them() -> None:
    lines = lines_of()
    assert "above = tl.load(u + at - cols, mask=(col < cols) & (row >= 1))" in lines
    assert "below_3 = tl.load(u + at_3 + cols, mask=(col < cols) & (row + 4 < rows))" in lines


def test_a_row_above_keeps_its_mask_where_its_own_program_loads_less_of_it() -> None:
    less = STENCIL.replace(HERE, HERE.replace("col < cols", "col < cols - 5"))
    found = neighbours(state("stencil_triton", less))
    assert not isinstance(found, NotApplicable)
    lines = WideCopies(found.rows, 4).lines()
    assert "above = tl.load(u + at - cols, mask=interior)" in lines
    assert "one element beside" in reason("rows_of_vectors", state("stencil_triton", less)), (
        "what the rows share has a mask of two conditions of which one holds"
    )


def test_only_the_element_beside_a_quad_is_loaded_by_itself() -> None:
    lines = lines_of()
    assert "col_first = tl.program_id(0) * BLOCK + (tl.arange(0, BLOCK // 4) * 4)" in lines
    assert "left_1_edge = tl.load(u + at_1_first - 1, mask=interior_1_first)" in lines
    assert "right_1_edge = tl.load(u + at_1_last + 1, mask=interior_1_last)" in lines
    assert not [line for line in lines if re.match(r"(left|right)(_\d)? = tl\.load", line)]


def test_columns_become_the_first_axis_of_the_grid() -> None:
    assert changes("stencil_triton", "rows_of_vectors", 1)[-1] == (
        "+    stencil_kernel[(triton.cdiv(cols, BLOCK), triton.cdiv(rows, 4))]"
        "(u, out, rows, cols, BLOCK=BLOCK)"
    )
    assert "row = tl.program_id(1) * 4" in lines_of()


def test_rows_that_do_not_fit_the_second_axis_stay_on_the_first() -> None:
    many = {"rows": {"min": 1, "max": 65535 * 4 + 1}, "cols": {"min": 1, "max": 4096}}
    found = proposals("rows_of_vectors", state("stencil_triton", symbols=many))
    assert ["row = tl.program_id(0)" in (c.source or "") for c in found] == [False, True, True]


def test_a_thread_has_a_quad_of_each_row() -> None:
    found = proposals("rows_of_vectors", state("stencil_triton"))
    assert [c.parameters for c in found] == [{"BLOCK": 512}, {"BLOCK": 512}, {"num_warps": 8}]
    assert [c.detail.split()[0] for c in found] == ["8", "4", "4"]


def test_masked_lanes_keep_what_their_load_fills_in() -> None:
    lines = lines_of(FILLED_SIDES)
    (left,) = [line for line in lines if line.startswith("left_2 = ")]
    assert left.startswith("left_2 = tl.where(interior_2, tl.reshape(")
    assert left.endswith(", 7.0)")
    assert "above = tl.where(interior, above_loaded, 3.0)" in lines


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("(above + below + left + right)", "(above + below)", "one element beside"),
        ("at + cols", "at + 1", "is one of its neighbour's"),
        (HERE, HERE.replace("col < cols", "col % 2 == 0"), "one element beside"),
        ("tl.arange(0, BLOCK)", "tl.arange(0, 1024)", "no parameter of the spec"),
    ],
)
def test_kernels_of_another_form_are_refused_in_words(old: str, new: str, why: str) -> None:
    assert old in STENCIL
    changed = STENCIL.replace(old, new)
    if old == "at + cols":
        changed = changed.replace("at - cols", "at - 1")
    if new == "(above + below)":
        changed = re.sub(r"    (left|right) = .*\n", "", changed)
    assert why in reason("rows_of_vectors", state("stencil_triton", changed))


def test_rows_that_begin_at_no_vector_are_refused() -> None:
    works = [{"name": "main", "symbols": {"rows": 64, "cols": 2999}}]
    start = state("stencil_triton", workloads=works)
    assert "rows of `cols` elements do not begin at whole vectors" in reason(
        "rows_of_vectors", start
    )


def test_blocks_of_less_than_a_quad_are_refused() -> None:
    start = state("stencil_triton", parameters={"BLOCK": {"values": [2, 1024], "default": 1024}})
    assert "blocks of 4 elements or more" in reason("rows_of_vectors", start)


def test_a_hint_about_neighbouring_lanes_is_not_carried_to_single_elements() -> None:
    hinted = STENCIL.replace(
        "col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)",
        "col = tl.max_contiguous(tl.program_id(1) * BLOCK + tl.arange(0, BLOCK), BLOCK)",
    )
    assert hinted != STENCIL
    assert "one element beside" in reason("rows_of_vectors", state("stencil_triton", hinted))


def test_what_it_did_is_not_done_again() -> None:
    found = chain("stencil_triton", "rows_of_vectors")
    assert isinstance(rows_of_vectors.MOVE.propose(found), NotApplicable)


# --- results

RIM = """\
def reference(u, **sizes):
    out = u + 0.5 * (3.0 + 7.0) - 5.0
    out[1:-1, 1:-1] = 0.25 * (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    )
    return out
"""
FORMS = {
    "plain": PLAIN_FORMS["plain"],
    "nested": (NESTED, PLAIN_FORMS["nested"][1]),
    "filled": (FILLED_SIDES, {"source_code": RIM}),
}
SIZES = ((7, 130), (1, 1), (17, 1027))


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
    source, reference = FORMS[form]
    data: dict[str, Any] = sized("plain", rows, cols) | {"reference": reference}
    kernel = load_data(
        data | {"kernel": data["kernel"] | {"source_code": source}},
        bench.folder,
        Roots([bench.folder]),
    )
    bench.oracle.open(kernel)
    start = state("stencil_triton", source)
    for each in proposals("rows_of_vectors", start)[:2]:
        found = applied(start, each)
        bench.must_pass(kernel, found)


@needs_interpreter
@pytest.mark.parametrize(("number", "rows"), [(0, 8), (1, 4)])
def test_rows_are_vectors_in_the_ptx_where_their_length_allows(
    bench: TritonBench, number: int, rows: int
) -> None:
    found = chain("stencil_triton", f"rows_of_vectors:{number}")
    kernel = loaded("stencil_triton", bench.folder)
    outcome = bench.builder.build(
        BuildRequest(
            kernel=kernel,
            variant=variant(kernel, found),
            shapes=tuple(Shape(label=w.name, symbols=w.symbols) for w in kernel.spec.workloads),
            device=DEVICE,
        )
    )
    assert outcome.artifact is not None, outcome.message
    assert outcome.facts is not None and not outcome.facts.spill_bytes
    names = [m.sha256 for m in outcome.artifact.modules if m.kind == "ptx"]
    texts = [(bench.folder / "modules" / f"{n}.ptx").read_text("utf-8") for n in names]
    counts = [
        [len(re.findall(kind, text)) for kind in (r"\bld\.global\.v4", r"\bld\.global\.b32",
         r"\bst\.global\.v4", r"\bst\.shared")]
        for text in texts
    ]  # fmt: skip
    assert [rows + 2, 2 * rows, rows, 0] in counts
