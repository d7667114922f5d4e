"""Tiles of rows: what becomes of masks and the grid, what is refused, that results stay."""

from __future__ import annotations

import re

import pytest
from tiers import cases
from triton_bench import DEVICE, TritonBench, variant
from triton_moves import applied, chain, changes, loaded, proposals, reason, state
from triton_stencils import FORMS, STENCIL, needs_interpreter, sized

from kernelwright.runners.loading.files import Roots, load_data
from kernelwright.runners.toolchains import BuildRequest, Shape


def test_the_row_becomes_an_axis_and_masks_end_at_the_last_row() -> None:
    assert changes("stencil_triton", "tiles_of_rows") == [
        "-    row = tl.program_id(0)",
        "-    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)",
        "+    row = (tl.program_id(1) * 4 + tl.arange(0, 4))[:, None]",
        "+    col = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)[None, :]",
        "-    here = tl.load(u + at, mask=col < cols)",
        "-    above = tl.load(u + at - cols, mask=interior)",
        "-    below = tl.load(u + at + cols, mask=interior)",
        "+    here = tl.load(u + at, mask=(col < cols) & (row < rows))",
        "+    above = tl.load(u + at - cols, mask=(col < cols) & (row >= 1) & (row - 1 < rows))",
        "+    below = tl.load(u + at + cols, mask=(col < cols) & (row + 1 < rows))",
        "-    tl.store(out + at, tl.where(interior, mean, here), mask=col < cols)",
        "+    tl.store(out + at, tl.where(interior, mean, here), mask=(col < cols) & (row < rows))",
        "-    stencil_kernel[(rows, triton.cdiv(cols, BLOCK))](u, out, rows, cols, BLOCK=BLOCK)",
        "+    stencil_kernel[(triton.cdiv(cols, BLOCK), triton.cdiv(rows, 4))]"
        "(u, out, rows, cols, BLOCK=BLOCK)",
    ]


def test_tiles_have_16_elements_a_thread() -> None:
    found = proposals("tiles_of_rows", state("stencil_triton"))
    assert [c.parameters for c in found] == [{"BLOCK": 512}, {"BLOCK": 256}, None]
    assert [c.detail for c in found] == [
        "tiles of 4 rows, BLOCK = 512",
        "tiles of 8 rows, BLOCK = 256",
        "tiles of 2 rows, BLOCK = 1024",
    ]


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("0.25 * (above", "tl.sum(above) * (above", "element by element"),
        ("u + at - cols, mask=interior", "u + cols, mask=col > 0", "the same in all rows"),
        ("tl.store(out + at,", "tl.store(out + col,", "where it stores"),
        ("here = ", "ends = tl.arange(0, BLOCK) == 3\n    here = ", "more than once"),
        ("(rows, triton", "(u.shape[0], triton", "whose size the kernel knows"),
    ],
)
def test_kernels_of_another_form_are_refused_in_words(old: str, new: str, why: str) -> None:
    assert old in STENCIL
    assert why in reason("tiles_of_rows", state("stencil_triton", STENCIL.replace(old, new)))


def test_tiles_are_made_once() -> None:
    found = chain("stencil_triton", "tiles_of_rows")
    assert "is one of its neighbour's" in reason("tiles_of_rows", found)


# --- results


@needs_interpreter
@pytest.mark.parametrize("form", FORMS)
@cases(
    ("rows", "cols"),
    [(7, 130), (1, 1), (18, 1027)],
    why="further odd sizes, each form interpreted at each",
)
def test_uneven_rows_and_columns_come_out_the_same(
    bench: TritonBench, form: str, rows: int, cols: int
) -> None:
    kernel = load_data(sized(form, rows, cols), bench.folder, Roots([bench.folder]))
    bench.oracle.open(kernel)
    start = state("stencil_triton", FORMS[form][0])
    for each in proposals("tiles_of_rows", start)[:2]:
        found = applied(start, each)
        bench.must_pass(kernel, found)


@needs_interpreter
def test_all_but_the_loads_beside_are_vectors_in_the_ptx(bench: TritonBench) -> None:
    found, kernel = chain("stencil_triton", "tiles_of_rows"), loaded("stencil_triton", bench.folder)
    outcome = bench.builder.build(
        BuildRequest(
            kernel=kernel,
            variant=variant(kernel, found),
            shapes=tuple(Shape(label=w.name, symbols=w.symbols) for w in kernel.spec.workloads),
            device=DEVICE,
        )
    )
    assert outcome.artifact is not None, outcome.message
    names = [m.sha256 for m in outcome.artifact.modules if m.kind == "ptx"]
    texts = [(bench.folder / "modules" / f"{n}.ptx").read_text("utf-8") for n in names]
    kinds = r"\bld\.global\.v4", r"\bld\.global\.b32", r"\bst\.global\.v4"
    counts = [[len(re.findall(kind, text)) for kind in kinds] for text in texts]
    assert [3 * 4, 2 * 16, 4] in counts, "of 16 elements a thread"
