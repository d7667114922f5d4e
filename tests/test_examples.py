"""The example specs load, and their sources and references say what the specs promise."""

from __future__ import annotations

import json
import re
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelwright.runners.contract import BoundContract, bind
from kernelwright.runners.expressions import evaluate
from kernelwright.runners.spec import Kernel, KernelSpec, Reference

EXAMPLES = Path(__file__).parent.parent / "examples"
SPECS = sorted(EXAMPLES.glob("*/*.json"))
KNOBBED = [p for p in SPECS if p.name == "spec.json"]
ODD_SIZES = (3, 7, 5)

Array = np.ndarray[Any, np.dtype[Any]]


def load(path: Path) -> KernelSpec:
    return KernelSpec.model_validate(json.loads(path.read_text(encoding="utf-8")))


def source(path: Path, part: Kernel | Reference) -> Path:
    assert part.source_path is not None
    found = (path.parent / part.source_path).resolve()
    assert found.is_relative_to(path.parent.resolve())
    return found


def reference_of(path: Path) -> Callable[..., Array]:
    reference = load(path).reference
    assert isinstance(reference, Reference)
    return runpy.run_path(str(source(path, reference)))["reference"]


def small(spec: KernelSpec) -> BoundContract:
    sizes = dict(zip(sorted(spec.symbols), ODD_SIZES, strict=False))
    return bind(spec.io, sizes, "small")


def values(bound: BoundContract, dtype: type[np.floating[Any]]) -> dict[str, Any]:
    rng = np.random.default_rng(11)
    made: dict[str, Any] = {a.name: a.value for a in bound.arguments if a.value is not None}
    return made | {a.name: rng.standard_normal(a.shape).astype(dtype) for a in bound.inputs}


def matmul(v: Mapping[str, Any]) -> Array:
    return (v["A"][:, :, None] * v["B"][None, :, :]).sum(axis=1)


def softmax(v: Mapping[str, Any]) -> Array:
    return np.stack([np.exp(row) / sum(np.exp(e) for e in row) for row in v["x"]])


def stencil(v: Mapping[str, Any]) -> Array:
    u, rows, columns = v["u"], v["H"], v["W"]
    out = np.empty_like(u)
    for i, j in np.ndindex(rows, columns):
        near = [(i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)]
        inside = [u[n] for n in near if 0 <= n[0] < rows and 0 <= n[1] < columns]
        out[i, j] = u[i, j] + v["alpha"] * sum(value - u[i, j] for value in inside)
    return out


INDEPENDENT = {"matmul": matmul, "softmax": softmax, "stencil": stencil}


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def test_every_kernel_has_a_knobbed_spec_and_a_plain_twin() -> None:
    assert {name_of(p) for p in SPECS} == {
        f"{kernel}/{file}" for kernel in INDEPENDENT for file in ("spec.json", "plain.json")
    }


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_the_source_defines_the_entry_with_the_arguments_in_order(path: Path) -> None:
    spec = load(path)
    text = source(path, spec.kernel).read_text(encoding="utf-8")
    entry = re.search(rf"^void {spec.kernel.metadata.kernel_name}\((.*?)\)", text, re.M)
    assert entry is not None
    assert [p.split()[-1] for p in entry[1].split(",")] == [a.name for a in spec.io.arguments]


@pytest.mark.parametrize("path", SPECS, ids=name_of)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_the_reference_agrees_with_an_independent_computation(
    path: Path, dtype: type[np.floating[Any]], rtol: float
) -> None:
    given = values(small(load(path)), dtype)
    found = reference_of(path)(**given)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, INDEPENDENT[path.parent.name](given), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_one_workload_is_held_out_and_two_are_visible(path: Path) -> None:
    assert sorted(w.held_out for w in load(path).workloads) == [False, False, True]


@pytest.mark.parametrize("path", KNOBBED, ids=name_of)
def test_every_parameter_is_a_guarded_macro_with_the_declared_default(path: Path) -> None:
    spec = load(path)
    text = source(path, spec.kernel).read_text(encoding="utf-8")
    guarded = re.findall(r"^#ifndef (\w+)\n#define \1 (\d+)\b.*\n#endif$", text, re.M)
    assert {name: int(value) for name, value in guarded} == {
        name: parameter.start for name, parameter in spec.parameters.items()
    }


@pytest.mark.parametrize("path", KNOBBED, ids=name_of)
def test_the_defaults_satisfy_the_constraints(path: Path) -> None:
    spec = load(path)
    start = {name: parameter.start for name, parameter in spec.parameters.items()}
    assert all(evaluate(constraint, start) for constraint in spec.constraints)


@pytest.mark.parametrize("path", KNOBBED, ids=name_of)
def test_the_plain_twin_keeps_the_contract_and_has_no_macros(path: Path) -> None:
    spec, twin_path = load(path), path.with_name("plain.json")
    twin = load(twin_path)
    same = ("io", "symbols", "workloads", "reference")
    assert [getattr(twin, part) for part in same] == [getattr(spec, part) for part in same]
    assert not twin.parameters
    text = source(twin_path, twin.kernel).read_text(encoding="utf-8")
    assert not re.search(r"^\s*#(?!include)", text, re.M)
