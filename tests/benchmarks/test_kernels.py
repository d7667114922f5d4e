"""The beginner's kernels of the benchmarks: they load, build, and compute what they say."""

from __future__ import annotations

import importlib
import json
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from device_kernels import GPUS, gpu_of
from measured_yardsticks import YARDSTICK
from tiers import cases, further

from kernelwright.runners.limits.limits import work
from kernelwright.runners.loading.completing import draft_of_source
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data, load_file
from kernelwright.runners.oracle.inputs import make_inputs
from kernelwright.runners.specs.contract import bind, workload_contracts
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.session.workbench import Workbench

ROOT = Path(__file__).parents[2]
KERNELS = ROOT / "benchmarks" / "kernels"
CUDA = sorted(KERNELS.glob("*/cuda*.json"))
TRITON = sorted(KERNELS.glob("*/triton.json"))
SPECS = sorted([*CUDA, *TRITON])
TINY = {"rows": 4, "cols": 7, "n": 301, "batch": 2, "M": 3, "N": 5, "K": 6}
SMALL = {"rows": 7, "cols": 131, "n": 1003, "batch": 3, "M": 19, "N": 37, "K": 23}
L2_OF_AN_H100 = 50 << 20

Array = np.ndarray[Any, np.dtype[Any]]
Values = Mapping[str, Any]


def name_of(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def loaded(path: Path) -> LoadedKernel:
    return load_file(path, Roots([path.parent]))


def sizes(spec: KernelSpec, of: Mapping[str, int]) -> dict[str, int]:
    return {name: of[name] for name in spec.symbols}


def test_every_kernel_of_the_issue_is_there_in_both_languages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    chosen = importlib.import_module("beginner_kernels").beginner_kernels
    every = chosen()
    languages = [each.language for each in every]
    assert (languages.count("triton"), languages.count("cuda")) == (12, 13)
    assert len({each.name for each in every}) == 25
    assert [each.name for each in chosen(["softmax", "sum_cuda"])] == [
        "softmax_cuda",
        "softmax_triton",
        "sum_cuda",
    ]
    with pytest.raises(ValueError, match=r"no kernel is called `gemv`; valid: .*gemm"):
        chosen(["gemv"])


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_a_spec_has_one_workload_to_search_on_and_one_held_out(path: Path) -> None:
    spec = loaded(path).spec
    assert spec.name == f"{path.parent.name}_{path.stem}" and path.stem.startswith(kind(spec))
    assert [w.held_out for w in spec.workloads] == [False, True]
    assert all(domain is not None for domain in spec.symbols.values())


def kind(spec: KernelSpec) -> str:
    return spec.kernel.kernel_type


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_declared_bytes_are_those_of_the_arrays_and_more_than_the_cache_holds(path: Path) -> None:
    spec = loaded(path).spec
    for held_out in (False, True):
        for bound in workload_contracts(spec, held_out=held_out):
            declared = work(spec.io, bound.symbols)
            assert declared.bytes == sum(a.nbytes for a in (*bound.inputs, *bound.outputs))
    (main,) = workload_contracts(spec)
    assert path.parent.name == "gemm" or (work(spec.io, main.symbols).bytes or 0) > L2_OF_AN_H100


@pytest.mark.parametrize("path", TRITON, ids=name_of)
def test_nobody_chose_the_parameters_of_a_triton_kernel(path: Path) -> None:
    spec = loaded(path).spec
    assert spec.kernel.source_path is not None
    source = (path.parent / spec.kernel.source_path).read_text(encoding="utf-8")
    drafted = draft_of_source(spec.kernel.source_path, source).data
    assert json.loads(path.read_text(encoding="utf-8"))["parameters"] == drafted["parameters"]


@pytest.mark.parametrize("path", CUDA, ids=name_of)
def test_a_cuda_kernel_declares_no_parameters(path: Path) -> None:
    kernel = loaded(path).spec.kernel
    assert not loaded(path).spec.parameters and not kernel.defines and kernel.flags is None


def bias_gelu(v: Values) -> Array:
    z = v["x"] + v["bias"]
    return z / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def softmax(v: Values) -> Array:
    return np.array([[np.exp(a) / sum(np.exp(b) for b in row) for a in row] for row in v["x"]])


def rmsnorm(v: Values) -> Array:
    lengths = [np.sqrt(sum(a * a for a in row) / len(row) + 1e-6) for row in v["x"]]
    return v["x"] / np.array(lengths)[:, None] * v["weight"]


def layernorm(v: Values) -> Array:
    x = v["x"]
    scale = np.array([np.sqrt(np.var(row) + 1e-5) for row in x])[:, None]
    mean = np.array([sum(row) / len(row) for row in x])[:, None]
    return (x - mean) / scale * v["weight"] + v["bias"]


def argmax(v: Values) -> Array:
    return np.array([list(row).index(max(row)) for row in v["x"]])


def histogram(v: Values) -> Array:
    return np.array([list(v["values"]).count(value) for value in range(256)])


def stencil(v: Values) -> Array:
    u, out = v["u"], v["u"].copy()
    for i, j in np.ndindex(u.shape[0] - 2, u.shape[1] - 2):
        near = u[i, j + 1] + u[i + 2, j + 1] + u[i + 1, j] + u[i + 1, j + 2]
        out[i + 1, j + 1] = near / 4
    return out


def scan(v: Values) -> Array:
    return np.array([[sum(row[: i + 1]) for i in range(len(row))] for row in v["x"]])


def gemm(v: Values) -> Array:
    return np.einsum("...mk,...kn->...mn", v["a"], v["b"])


INDEPENDENT: Mapping[str, Callable[[Values], Array]] = {
    "bias_gelu": bias_gelu,
    "softmax": softmax,
    "rmsnorm": rmsnorm,
    "layernorm": layernorm,
    "sum": lambda v: np.array([sum(v["x"])]),
    "argmax": argmax,
    "transpose": lambda v: np.array([list(column) for column in zip(*v["x"], strict=True)]),
    "histogram": histogram,
    "stencil": stencil,
    "scan": scan,
    "gemm": gemm,
    "batched_gemm": gemm,
}


@pytest.mark.parametrize("path", SPECS, ids=name_of)
def test_the_reference_agrees_with_an_independent_formula(path: Path) -> None:
    spec = loaded(path).spec
    bound = bind(spec.io, sizes(spec, TINY), "tiny")
    given: dict[str, Any] = {a.name: a.value for a in bound.arguments if a.value is not None}
    made = make_inputs(bound, 11)
    given |= {n: a if a.dtype.kind in "iu" else a.astype(np.float64) for n, a in made.items()}
    found = runpy.run_path(str(path.with_name("reference.py")))["reference"](**given)
    assert found.shape == bound.outputs[0].shape
    np.testing.assert_allclose(found, INDEPENDENT[path.parent.name](given), rtol=1e-12, atol=1e-12)


def test_of_equal_values_the_first_is_the_largest() -> None:
    reference = runpy.run_path(str(KERNELS / "argmax" / "reference.py"))["reference"]
    assert list(reference(np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]]))) == [1, 0]


@pytest.mark.skipif(find_spec("torch") is None, reason="yardsticks need torch")
def test_every_yardstick_does_the_work_of_its_reference() -> None:
    command = [sys.executable, "-c", YARDSTICK, *map(str, SPECS)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    with Workbench(tmp_path_factory.mktemp("builds") / "out", [KERNELS]) as opened:
        if opened.gpus.present():
            pytest.skip("a GPU is here: the benchmark itself goes further")
        yield opened


@further(
    "tests/evaluation/test_without_gpu.py::test_an_example_is_built_with_facts_and_not_timed",
    why="kernels of the benchmark, which change only when they are rewritten",
)
@pytest.mark.skipif(not (find_spec("triton") and find_spec("torch")), reason="no triton or torch")
@cases(
    "path",
    TRITON,
    ids=name_of,
    why="further kernels of the benchmark, which change only when they are rewritten",
)
def test_a_triton_kernel_builds_for_an_h100_and_its_logic_is_right(
    bench: Workbench, path: Path
) -> None:
    opened = bench.evaluator.open(loaded(path))
    assert any(note.startswith("logic check passed") for note in opened.notes), opened.notes


@pytest.fixture(scope="module", params=GPUS)
def gpu_bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workbench]:
    if shutil.which("g++") is None:
        pytest.skip("no g++ for the pretended GPU")
    folder = tmp_path_factory.mktemp(request.param)
    with gpu_of(request.param, folder), Workbench(folder / "out", [KERNELS]) as opened:
        yield opened


@further(
    "tests/gpu/test_evaluator.py::test_less_work_is_faster_and_becomes_incumbent",
    why="kernels of the benchmark, which change only when they are rewritten",
)
@cases(
    "path",
    CUDA,
    ids=name_of,
    why="further kernels of the benchmark, which change only when they are rewritten",
)
def test_a_cuda_kernel_builds_for_an_h100_and_is_right_when_it_runs(
    gpu_bench: Workbench, path: Path, request: pytest.FixtureRequest
) -> None:
    if path.stem.endswith("fp16") and "pretended" in request.node.name:
        pytest.skip("the pretended GPU has no half precision")
    data = json.loads(path.read_text(encoding="utf-8"))
    small = {name: SMALL[name] for name in data["symbols"]}
    data["workloads"] = [{"name": "small", "symbols": small}]
    kernel = load_data(data, path.parent, Roots([path.parent]))
    assert gpu_bench.evaluator.open(kernel).timed
