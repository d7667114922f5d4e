"""Rows in registers: what loops compute alike is kept, and each reduction has one barrier."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from idiom_sources import SOURCES

from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.cuda.idioms import row_in_registers, row_per_team

WHAT = "softmax that computes its exponentials twice, by values of its own"
ROOT = Path(__file__).parents[5]
SUMMED, STORED = "total += expf(v - m);", "expf(x[row * cols + j] - m)"


def kept_form(*changes: tuple[str, str]) -> str:
    """The branch of the new kernel that holds rows in registers."""
    source = SOURCES[WHAT]
    text = source.text
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    found = row_in_registers.MOVE.propose(source.state(text))
    assert not isinstance(found, NotApplicable), found.reason
    assert found[0].source is not None
    whole = found[0].source
    return whole[whole.index("// a thread holds") : whole.index("} else {\n        float m")]


def test_an_exponential_is_computed_once_and_taken_from_registers_after_that() -> None:
    text = kept_form()
    assert text.count("expf(") == 1
    assert "total += (row_term0[row_item] = expf(v - m));" in text
    assert "const float e = row_term0[row_item];" in text


def test_the_largest_common_value_is_kept() -> None:
    text = kept_form((SUMMED, "total += expf(v - m) / 3.0f;"), (STORED, f"{STORED} / 3.0f"))
    assert "(row_term0[row_item] = expf(v - m) / 3.0f)" in text
    assert "row_term1" not in text


def test_what_costs_an_instruction_is_computed_again() -> None:
    assert "row_term" not in kept_form((SUMMED, "total += v - m;"), (STORED, STORED[4:]))


@pytest.mark.parametrize(
    "changes",
    [
        [(STORED, "expf(x[row * cols + j] - 2.0f * m)")],
        [(STORED, "__expf(x[row * cols + j] - m)")],
        [("    for (int j", "    m += 1.0f;\n    for (int j")],
        [("i = 0; i", "i = 1; i")],
        [(SUMMED, "total += v > 0.0f ? expf(v - m) : 0.0f;")],
        [("const float v", "const double v")],
        [(SUMMED, SUMMED.replace("v - m", "v - i"))],
    ],
)
def test_what_may_differ_is_computed_again(changes: list[tuple[str, str]]) -> None:
    assert "row_term" not in kept_form(*changes)


def test_a_value_of_an_array_is_kept_until_the_array_is_written() -> None:
    copied = (f"const float v = x[row * cols + i];\n        {SUMMED}", "y[row * cols + i] = 2.0f;")
    summed = "for (int i = 0; i < cols; i++) total += expf(y[row * cols + i] - m);\n    for (int j"
    again = ("    for (int j", f"    {summed}"), (STORED, "expf(y[row * cols + j] - m)")
    assert "y_row[row_item] = e / total" in kept_form(copied, *again)
    assert "const float e = row_term0[row_item]" in kept_form(copied, *again)
    written = ("const float e", "y[row * cols + j] = 0.0f;\n        const float e")
    assert "row_term" not in kept_form(copied, *again, written)


def test_two_reductions_of_a_row_have_two_barriers_in_all() -> None:
    source = SOURCES["mean and variance in one loop, fp16"]
    for move in (row_in_registers, row_per_team):
        found = move.MOVE.propose(source.state())
        assert not isinstance(found, NotApplicable), found.reason
        text = next(c.source or "" for c in found if "block_sum" in (c.source or ""))
        helper = text[text.index("T block_sum(") : text.index('extern "C"')]
        assert helper.count("__syncthreads()") == 1
        kernel = text[text.index('extern "C"') :]
        assert kernel.count("block_sum(sum)") == kernel.count("block_sum<1>(squares)") > 0


def of_beginner(name: str) -> tuple[Candidate, ...]:
    kernel = load_file(ROOT / "benchmarks" / "kernels" / name / "cuda.json", Roots([ROOT]))
    state = State("cuda", kernel.source, {}, BuildOptions(), kernel.spec)
    found = row_in_registers.MOVE.propose(state)
    assert not isinstance(found, NotApplicable), found.reason
    return found


def test_a_warp_holds_a_row_where_it_has_registers_for_it() -> None:
    softmax, argmax, norm = map(of_beginner, ("softmax", "argmax", "layernorm"))
    warp = "rows in registers: 32 threads a row, 16 vectors of 4 a thread"
    # two reductions cost a block two barriers, one costs it one; three arrays are too many
    assert [c.detail for c in softmax].index(warp) == 0
    assert [c.detail for c in argmax].index(warp) == 1
    assert warp not in [c.detail for c in norm]
    assert softmax[0].plan is not None
    (step,) = softmax[0].plan["steps"]
    assert (step["grid"], step["block"]) == (["cdiv(rows, 4)"], ["32 * 4"])


def test_few_rows_are_not_left_to_warps() -> None:
    sizes = {"whole": {"rows": 500, "cols": 2048}}
    found = row_in_registers.MOVE.propose(replace(SOURCES[WHAT], sizes=sizes).state())
    assert not isinstance(found, NotApplicable)
    assert found[-1].detail.startswith("rows in registers: 32 threads")


def test_rows_that_fill_a_warp_are_not_tested_column_by_column() -> None:
    for columns, test in (((2048, 2048), "=="), ((2048, 2044), "<=")):
        sizes = {f"w{at}": {"rows": 4000 + at, "cols": c} for at, c in enumerate(columns)}
        found = row_in_registers.MOVE.propose(replace(SOURCES[WHAT], sizes=sizes).state())
        assert not isinstance(found, NotApplicable) and found[0].source is not None
        text = found[0].source
        held = text[text.index("// a thread holds") : text.index("} else {\n        float m")]
        assert f"if (cols {test} 32 * ROW_ITEMS * 4)" in held
        assert ("i < cols" in held) == (test == "<=")
