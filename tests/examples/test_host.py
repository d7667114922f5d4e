"""The example specs load, and their sources and references say what the specs promise."""

from __future__ import annotations

import ast
import itertools
import json
import re
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernelwright.runners.limits.limits import work
from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.plans.declared_plan import declared_plan, resolve
from kernelwright.runners.plans.plan_check import check_plan
from kernelwright.runners.specs.contract import BoundContract, bind, odd_shape, workload_contracts
from kernelwright.runners.specs.expressions import evaluate
from kernelwright.runners.specs.spec import Kernel, KernelSpec, Reference

EXAMPLES = Path(__file__).parents[2] / "examples"
SPECS = sorted(EXAMPLES.glob("*/*.json"))
ODD_SIZES = (3, 7, 5)

Array = np.ndarray[Any, np.dtype[Any]]


def load(path: Path) -> KernelSpec:
    return KernelSpec.model_validate(json.loads(path.read_text(encoding="utf-8")))


HOST = [p for p in SPECS if load(p).kernel.kernel_type == "cpp"]
CUDA = [p for p in SPECS if load(p).kernel.kernel_type == "cuda"]
TRITON = [p for p in SPECS if load(p).kernel.kernel_type == "triton"]
GPU = [*CUDA, *TRITON]
KNOBBED = [p for p in HOST if p.name == "spec.json"]
TWINS = [p for p in SPECS if p.name != "spec.json"]


def source(path: Path, part: Kernel | Reference) -> Path:
    assert part.source_path is not None
    found = (path.parent / part.source_path).resolve()
    assert found.is_relative_to(path.parent.resolve())
    return found


def source_text(path: Path) -> str:
    return source(path, load(path).kernel).read_text(encoding="utf-8")


def reference_of(path: Path) -> Callable[..., Any]:
    reference = load(path).reference
    assert isinstance(reference, Reference)
    return runpy.run_path(str(source(path, reference)))["reference"]


def small(spec: KernelSpec) -> BoundContract:
    sizes = dict(zip(sorted(spec.symbols), ODD_SIZES, strict=False))
    return bind(spec.io, sizes, "small")


def values(bound: BoundContract, dtype: type[np.floating[Any]]) -> dict[str, Any]:
    """What the oracle calls a reference with, floats in `dtype`."""
    made: dict[str, Any] = {a.name: a.value for a in bound.arguments if a.value is not None}
    for name, array in make_inputs(bound, 11).items():
        made[name] = array if array.dtype.kind in "iu" else array.astype(dtype)
    return made


def matmul(v: Mapping[str, Any]) -> Array:
    left, right = v.get("A", v.get("a")), v.get("B", v.get("b"))
    assert left is not None and right is not None
    return (left[:, :, None] * right[None, :, :]).sum(axis=1)


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


def add(v: Mapping[str, Any]) -> Array:
    return np.array([a + b for a, b in zip(v["x"], v["y"], strict=True)])


def total(v: Mapping[str, Any]) -> Array:
    return np.array([sum(v["x"])])


def transpose(v: Mapping[str, Any]) -> Array:
    return np.array([[v["x"][i, j] for i in range(v["rows"])] for j in range(v["cols"])])


def histogram(v: Mapping[str, Any]) -> Array:
    return np.array([list(v["values"]).count(value) for value in range(256)])


def scale(v: Mapping[str, Any]) -> Array:
    return np.array([e * v["factor"] for e in v["x"]], dtype=v["x"].dtype)


INDEPENDENT: dict[str, Callable[[Mapping[str, Any]], Array]] = {
    "matmul": matmul,
    "softmax": softmax,
    "stencil": stencil,
    "triton_vector_add": add,
    "triton_softmax": softmax,
    "triton_matmul": matmul,
    "triton_reduction": total,
    "cuda_vector_add": add,
    "cuda_sum": total,
    "cuda_transpose": transpose,
    "cuda_sgemm": matmul,
    "cuda_histogram": histogram,
    "cuda_scale": scale,
}
FLOPS = {
    "matmul": 2 * 384**3,
    "softmax": 5 * 1024 * 4000,
    "stencil": 7 * 2048**2,
    "triton_vector_add": 2**24,
    "triton_softmax": 5 * 4096**2,
    "triton_matmul": 137_438_953_472,
    "triton_reduction": 2**25,
    "cuda_vector_add": 2**24,
    "cuda_sum": 2**25,
    "cuda_transpose": 0,
    "cuda_sgemm": 17_179_869_184,
    "cuda_histogram": 0,
    "cuda_scale": 2**24,
}
"""Of the first workload, worked out by hand."""


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def test_every_host_kernel_has_a_knobbed_spec_and_a_plain_twin() -> None:
    assert {name_of(p) for p in HOST} == {
        f"{kernel}/{file}"
        for kernel in ("matmul", "softmax", "stencil")
        for file in ("spec.json", "plain.json")
    }


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_every_spec_loads_with_all_that_it_names(path: Path) -> None:
    loaded = load_file(path, Roots([path.parent]))
    assert loaded.spec.name.startswith(path.parent.name)


def test_no_two_specs_have_one_name() -> None:
    names = [load(p).name for p in SPECS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("path", SPECS, ids=name_of)
@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-12), (np.float32, 1e-5)])
def test_the_reference_agrees_with_an_independent_computation(
    path: Path, dtype: type[np.floating[Any]], rtol: float
) -> None:
    bound = small(load(path))
    given = values(bound, dtype)
    found = reference_of(path)(**given)
    assert found.shape == bound.outputs[0].shape
    assert found.dtype == dtype or found.dtype.kind == "i"
    np.testing.assert_allclose(found, INDEPENDENT[path.parent.name](given), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_the_declared_bytes_are_what_the_arrays_hold(path: Path) -> None:
    """Inputs are read once and outputs written once; what is changed in place is both."""
    spec = load(path)
    for held_out in (False, True):
        for bound in workload_contracts(spec, held_out=held_out):
            held = sum(a.nbytes for a in (*bound.inputs, *bound.outputs))
            assert work(spec.io, bound.symbols).bytes == held


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_the_declared_operations_are_those_counted_by_hand(path: Path) -> None:
    spec = load(path)
    assert work(spec.io, spec.workloads[0].symbols).flops == FLOPS[path.parent.name]


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_one_workload_is_held_out_and_two_are_visible(path: Path) -> None:
    assert sorted(w.held_out for w in load(path).workloads) == [False, False, True]


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_an_odd_shape_can_be_drawn(path: Path) -> None:
    assert odd_shape(load(path), 3) is not None


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_the_defaults_satisfy_the_constraints(path: Path) -> None:
    spec = load(path)
    start = {name: parameter.start for name, parameter in spec.parameters.items()}
    assert all(evaluate(constraint, start) for constraint in spec.constraints)


@pytest.mark.parametrize("path", HOST, ids=name_of)
def test_a_host_source_defines_the_entry_with_the_arguments_in_order(path: Path) -> None:
    spec = load(path)
    entry = re.search(
        rf"^void {spec.kernel.metadata.kernel_name}\((.*?)\)", source_text(path), re.M
    )
    assert entry is not None
    assert [p.split()[-1] for p in entry[1].split(",")] == [a.name for a in spec.io.arguments]


@pytest.mark.parametrize("path", CUDA, ids=name_of)
def test_a_cuda_source_has_an_entry_for_every_launch(path: Path) -> None:
    spec = load(path)
    arguments = [a.name for a in spec.io.arguments]
    launches = [{"launch": spec.kernel.metadata.kernel_name, "args": arguments}]
    if spec.kernel.plan is not None:
        plan = json.loads(path.read_text(encoding="utf-8"))["kernel"]["plan"]
        launches = [step for step in plan["steps"] if "launch" in step]
    for launch in launches:
        entry = re.search(
            rf'^extern "C" __global__ void {launch["launch"]}\((.*?)\)', source_text(path), re.M
        )
        assert entry is not None
        assert len(entry[1].split(",")) == len(launch["args"])


@pytest.mark.parametrize("path", CUDA, ids=name_of)
def test_every_legal_choice_of_parameters_gives_a_plan(path: Path) -> None:
    spec = load(path)
    plan = declared_plan(spec.kernel)
    contracts = (*workload_contracts(spec), *workload_contracts(spec, held_out=True), small(spec))
    names = list(spec.parameters)
    for choice in itertools.product(*(spec.parameters[name].values for name in names)):
        chosen = dict(zip(names, choice, strict=True))
        if all(evaluate(constraint, chosen) for constraint in spec.constraints):
            for contract in contracts:
                check_plan(resolve(plan, contract, chosen), contract)


@pytest.mark.parametrize("path", TRITON, ids=name_of)
def test_a_triton_entry_asks_only_for_what_the_spec_provides(path: Path) -> None:
    spec = load(path)
    data = json.loads(path.read_text(encoding="utf-8"))
    constexprs: dict[str, Any] = data["kernel"].get("launch", {}).get("constexprs", {})
    known = {*(a.name for a in spec.io.arguments), *spec.symbols, *spec.parameters, *constexprs}
    functions = [n for n in ast.parse(source_text(path)).body if isinstance(n, ast.FunctionDef)]
    entry = next(f for f in functions if f.name == spec.kernel.metadata.kernel_name)
    assert {argument.arg for argument in entry.args.args} <= known


@pytest.mark.parametrize("path", [*KNOBBED, *CUDA], ids=name_of)
def test_every_parameter_is_a_guarded_macro_with_the_declared_default(path: Path) -> None:
    guarded = re.findall(r"^#ifndef (\w+)\n#define \1 (\d+)\b.*\n#endif$", source_text(path), re.M)
    assert {name: int(value) for name, value in guarded} == {
        name: parameter.start for name, parameter in load(path).parameters.items()
    }


@pytest.mark.parametrize("path", TWINS, ids=name_of)
def test_a_twin_keeps_the_contract_and_has_no_parameters(path: Path) -> None:
    spec, twin = load(path.with_name("spec.json")), load(path)
    same = ("io", "symbols", "workloads", "reference", "device_profile")
    assert [getattr(twin, part) for part in same] == [getattr(spec, part) for part in same]
    assert not twin.parameters


@pytest.mark.parametrize("path", [p for p in TWINS if p in HOST], ids=name_of)
def test_a_plain_host_twin_has_no_macros(path: Path) -> None:
    assert not re.search(r"^\s*#(?!include)", source_text(path), re.M)


@pytest.mark.parametrize("path", GPU, ids=name_of)
def test_a_yardstick_takes_every_argument_of_the_contract(path: Path) -> None:
    tree = ast.parse(path.with_name("yardstick.py").read_text(encoding="utf-8"))
    function = next(n for n in tree.body if isinstance(n, ast.FunctionDef))
    named = {argument.arg for argument in function.args.args}
    wanted = {a.name for a in load(path).io.arguments}
    assert function.name == "yardstick"
    assert named == wanted or (function.args.kwarg is not None and named <= wanted)
