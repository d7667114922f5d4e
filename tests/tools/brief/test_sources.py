"""How a brief tells a variant's source beside the baseline's, which a prompt cache keeps."""

from __future__ import annotations

import pytest
from kernels import SPEC

from kernelwright.runners.model import Variant
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.planning.brief import tokens_of
from kernelwright.tools.brief.sources import SAME, WORTH, source_blocks, told_beside

LONG = "".join(f"    y[{i}] = x[{i}] * {i}.5f + y[{i - 1}];\n" for i in range(1, 200))


def variant(source: str, unroll: int = 1) -> Variant:
    return Variant(kernel_id="k1", source=source, source_key=source, parameters={"UNROLL": unroll})


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    return KernelSpec.model_validate(SPEC)


def test_the_baseline_is_told_once(spec: KernelSpec) -> None:
    assert source_blocks(spec, variant(LONG), variant(LONG)) == []


def test_a_variant_of_other_values_has_the_baselines_source(spec: KernelSpec) -> None:
    assert source_blocks(spec, variant(LONG, unroll=4), variant(LONG)) == [
        SAME.format(variant(LONG).variant_id)
    ]


def test_a_long_source_that_changed_in_places_is_told_by_its_diff(spec: KernelSpec) -> None:
    changed = LONG.replace("x[77] * 77.5f", "fmaf(x[77], 77.5f, 0)")
    (block,) = source_blocks(spec, variant(changed), variant(LONG))
    assert "+    y[77] = fmaf(x[77], 77.5f, 0) + y[76];" in block
    assert "with it applied" in block
    assert tokens_of(block) < tokens_of(changed) - WORTH


@pytest.mark.parametrize("changed", ["void f() {}\n", LONG.replace("y", "out")])
def test_a_short_source_and_one_rewritten_all_over_are_told_whole(
    spec: KernelSpec, changed: str
) -> None:
    short = changed.startswith("void")
    baseline = variant("void f() { }\n" if short else LONG)
    (block,) = source_blocks(spec, variant(changed), baseline)
    assert block == f"```cpp\n{changed.rstrip()}\n```"


REWRITE = LONG.replace("y", "out")
TOUCHED = REWRITE.replace("x[77] * 77.5f", "fmaf(x[77], 77.5f, 0)")


def test_what_comes_of_a_rewrite_is_told_beside_the_rewrite(spec: KernelSpec) -> None:
    first, child = variant(REWRITE), variant(TOUCHED)
    assert told_beside([variant(LONG), first]) == first
    assert told_beside([variant(LONG), first, child]) == first
    assert source_blocks(spec, first, first) == []
    (block,) = source_blocks(spec, child, first)
    assert first.variant_id in block
    assert "+    out[77] = fmaf(x[77], 77.5f, 0) + out[76];" in block
    assert tokens_of(block) < WORTH


def test_a_rewrite_of_a_rewrite_stands_in_its_place() -> None:
    again = variant(REWRITE.replace("x[", "in["))
    assert told_beside([variant(LONG), variant(REWRITE), again]) == again


def test_what_went_back_to_the_baseline_or_became_short_is_told_beside_the_baseline() -> None:
    path = [variant(LONG), variant(REWRITE)]
    for last in (LONG.replace("77.5f", "78.5f"), "void f() {}\n"):
        assert told_beside([*path, variant(last)]) == path[0]
