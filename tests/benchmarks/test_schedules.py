"""The benchmark of schedules: its kernels, that torch does the same work, and what it tells."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from cuda_moves import PretendedLab
from tiers import cases

from kernelwright.analysis.lift.interpreting import run
from kernelwright.runners.loading.files import parse_spec
from kernelwright.runners.model import BuildOptions
from kernelwright.runners.specs.contract import BoundContract, bind
from kernelwright.runners.specs.declared_plan_model import SetStep
from kernelwright.runners.specs.expressions import evaluate_int
from kernelwright.runners.specs.spec import KernelSpec
from kernelwright.search.moves import State
from kernelwright.search.moves.cuda.schedules.parts.plain import Plain, plain_of

ROOT = Path(__file__).parents[2]
Script = Callable[[str], Any]
Arrays = dict[str, npt.NDArray[Any]]
SIZES = {"cols": 8, "B": 2, "nx": 5, "ny": 6, "nz": 7}
EVERY = ["schedules", "plain", "triton", "columns"]


def _small(spec: KernelSpec) -> BoundContract:
    """At a small shape, `rows` a multiple of the tables that some kernels go through."""
    symbols = {name: SIZES.get(name, 256) for name in spec.symbols}
    return bind(spec.io, symbols, "small")


def _drawn(contract: BoundContract) -> Arrays:
    random, found = np.random.default_rng(5), Arrays()
    for each in contract.arrays:
        if each.argument.role == "output":
            found[each.name] = np.zeros(each.shape, np.dtype(_kept(each.argument.dtype)))
        elif each.argument.filled.kind == "randint":
            values = random.integers(0, 5, each.shape)
            found[each.name] = values.astype(each.argument.dtype)
        else:
            values = np.abs(random.standard_normal(each.shape)) + 0.1
            found[each.name] = values.astype(_kept(each.argument.dtype))
    return found


def _kept(dtype: str) -> str:
    return "float32" if dtype == "bfloat16" else dtype


def _computed(
    lab: PretendedLab, spec: KernelSpec, contract: BoundContract, given: Arrays
) -> list[Any]:
    """What the kernel leaves in what it writes: its reference's word, or that of its lift."""
    scalars: dict[str, Any] = {a.name: a.value for a in contract.arguments if a.value is not None}
    outputs = {a.name for a in contract.arrays if a.argument.role == "output"}
    if not isinstance(spec.reference, str):
        assert spec.reference.source_code is not None
        scope: dict[str, Any] = {}
        exec(spec.reference.source_code, scope)
        inputs = {n: a for n, a in given.items() if n not in outputs}
        told = scope["reference"](**inputs, **scalars)
        return [told] if isinstance(told, np.ndarray) else [*told]
    source = spec.kernel.source_code or ""
    state = State("cuda", source, {}, BuildOptions(), spec)
    plain = plain_of(state)
    if not isinstance(plain, Plain):  # beyond reading: the pretended GPU runs it
        inputs = {n: a.reshape(-1) for n, a in given.items() if n not in outputs}
        (left,) = lab.outputs(state, (contract.symbols, inputs))
        return list(left.values())
    flat = {n: a.reshape(-1).copy() for n, a in given.items()}
    setup = () if spec.kernel.plan is None else spec.kernel.plan.setup
    for table in plain.lifted.tables:
        for each in setup:
            if isinstance(each, SetStep) and each.set == table.name:
                flat[table.name] = np.asarray(each.value, table.dtype)
    sizes = {n: evaluate_int(each, contract.symbols) for n, each in plain.sizes.items()}
    run(plain.lifted, scalars | sizes, flat)
    return [flat[a.name].reshape(a.shape) for a in contract.outputs]


def _asked(torch: Any, call: Callable[..., Any], contract: BoundContract, given: Arrays) -> Arrays:
    """What torch returns, by place, and what it changed in place, by name."""
    tensors = {n: torch.from_numpy(each.copy()) for n, each in given.items()}
    for each in contract.arrays:
        if each.argument.dtype == "bfloat16":
            tensors[each.name] = tensors[each.name].bfloat16()
    scalars = {a.name: a.value for a in contract.arguments if a.value is not None}
    returned = call(**tensors, **scalars)
    several = [returned] if torch.is_tensor(returned) else returned
    found = {str(at): each for at, each in enumerate(several)}
    changed = {a.name: tensors[a.name] for a in contract.arrays if a.argument.role == "inout"}
    return {n: _told(each) for n, each in {**found, **changed}.items()}


def _told(tensor: Any) -> npt.NDArray[Any]:
    return (
        tensor.float() if tensor.is_floating_point() and tensor.itemsize == 2 else tensor
    ).numpy()


def _same(ours: npt.NDArray[Any], theirs: npt.NDArray[Any], dtype: str) -> bool:
    near = {"float16": 4e-3, "bfloat16": 2e-2, "int8": 1.0}.get(dtype, 1e-3)  # a tie of rounding
    return ours.size == theirs.size and np.allclose(ours.ravel(), theirs.ravel(), near, near)


def test_every_kernel_has_sizes_that_keep_a_gpu_busy_and_a_held_out_shape(script: Script) -> None:
    corpus = script("schedules_corpus")
    kernels = corpus.kernels_of(EVERY)
    assert len({each.name for each in kernels}) == len(kernels)
    for each in kernels:
        spec = parse_spec(dict(each.spec))
        assert [w.held_out for w in spec.workloads] == [False, True], each.name
        moved = bind(spec.io, spec.workloads[0].symbols, "main").nbytes
        assert 16 << 20 <= moved <= corpus.MOST_BYTES, each.name


def test_shards_share_all_kernels_and_each_has_some_of_every_kind(script: Script) -> None:
    corpus = script("schedules_corpus")
    kernels = corpus.kernels_of(EVERY)
    shards = [corpus.shard_of(kernels, f"{each}/2") for each in (1, 2)]
    assert sorted(k.name for s in shards for k in s) == sorted(k.name for k in kernels)
    assert all({k.kind for k in shard} == set(corpus.KINDS) for shard in shards)
    for wrong in ("0/2", "3/2", "2", "a/b"):
        with pytest.raises(ValueError, match="a shard is K/N"):
            corpus.shard_of(kernels, wrong)
    with pytest.raises(
        ValueError, match="no corpus `cpp`; valid: schedules, plain, triton, columns"
    ):
        corpus.kernels_of(["cpp"])


ROW: dict[str, Any] = {
    "kernel": "a", "corpus": "plain", "kind": "held out", "accepted": True,
    "baseline_ms": {"main": 0.4}, "best_ms": {"main": 0.1}, "speedup": 4.0, "low": 3.9,
    "high": 4.1, "torch_ms": {"eager": 0.2, "compiled": 0.1}, "by_schedule": True,
}  # fmt: skip
LEVEL = {**ROW, "kernel": "b", "accepted": False, "baseline_ms": {"main": 0.1}, "speedup": 1.0}
BEHIND = {**ROW, "kernel": "c", "best_ms": {"main": 0.2}, "speedup": 2.0}
FAILED: dict[str, Any] = {
    "kernel": "d",
    "corpus": "plain",
    "kind": "held out",
    "error": "no",
    "torch_ms": {},
}


def test_a_kind_is_told_beside_the_faster_of_eager_and_compiled(
    script: Script, tmp_path: Path
) -> None:
    table, files = script("schedules_table"), [tmp_path / "1.json", tmp_path / "2.json"]
    files[0].write_text(json.dumps({"kernels": [ROW, LEVEL]}), encoding="utf-8")
    files[1].write_text(json.dumps({"kernels": [BEHIND, FAILED]}), encoding="utf-8")
    rows = table.joined(files)
    found = table.summary("held out", rows)
    assert (found["kernels"], found["searched"], found["gained"]) == (4, 3, 2)
    assert (found["with_headroom"], found["reached"]) == (2, 1)
    assert found["speedup"] == pytest.approx(2.0)
    assert found["of_torch"] == pytest.approx(0.5 ** (1 / 3))
    lines = table.told(rows).splitlines()
    assert "4x (3.9 to 4.1) | none | 0.2000 | 0.1000 | 0.25 | 1.00 | yes" in lines[1]
    assert lines[4] == "d | plain | held out | no"
    assert "1 of 2 with headroom reach 0.9 of it" in lines[-3]


def test_tables_are_told_of_files_alone(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps({"kernels": [ROW]}), encoding="utf-8")
    command = [sys.executable, str(ROOT / "benchmarks" / "schedules.py"), "--table", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert "held out: 1 of 1 searched, 1 gained" in ran.stdout


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
@cases("part", EVERY[::-1], why="further kernels, each beside PyTorch")
def test_torch_does_the_work_of_each_kernel(script: Script, lab: PretendedLab, part: str) -> None:
    torch = pytest.importorskip("torch")
    differ = list[str]()
    for kernel in script("schedules_corpus").kernels_of([part]):
        spec = parse_spec(dict(kernel.spec))
        contract = _small(spec)
        given = _drawn(contract)
        call = script("schedules_torch").call_of(torch, kernel)
        theirs = _asked(torch, call, contract, given).values()
        ours = _computed(lab, spec, contract, given)
        for each, left in zip(contract.outputs, ours, strict=True):
            if not any(_same(np.asarray(left), t, each.argument.dtype) for t in theirs):
                differ.append(f"{kernel.name}: {each.name}")
    assert not differ
