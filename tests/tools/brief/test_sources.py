"""How a brief tells a variant's source beside the baseline's, which a prompt cache keeps."""

from __future__ import annotations

import pytest
from kernels import SPEC

from kernelwright.runners.model import Variant
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.planning.brief import tokens_of
from kernelwright.tools.brief.sources import SAME, WORTH, source_blocks

LONG = "".join(f"    y[{i}] = x[{i}] * {i}.5f + y[{i - 1}];\n" for i in range(1, 200))


def variant(source: str, unroll: int = 1) -> Variant:
    return Variant(kernel_id="k1", source=source, source_key=source, parameters={"UNROLL": unroll})


@pytest.fixture(scope="module")
def spec() -> KernelSpec:
    return KernelSpec.model_validate(SPEC)


def test_the_baseline_is_told_once(spec: KernelSpec) -> None:
    assert source_blocks(spec, variant(LONG), variant(LONG)) == []


def test_a_variant_of_other_values_has_the_baselines_source(spec: KernelSpec) -> None:
    assert source_blocks(spec, variant(LONG, unroll=4), variant(LONG)) == [SAME]


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
