"""A recorded kernel becomes a spec: its source, its launch, its data, its sizes by their count."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pretend_program import PretendedProgram, program_run

from kernelwright.evaluation.spec_check import check_spec
from kernelwright.runners.errors import AccessError, HandleUnknown, KernelwrightError, SpecError
from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.recording.fronts import Asked
from kernelwright.runners.recording.opening import arguments as arguments_of_specs
from kernelwright.runners.recording.recording import record_program
from kernelwright.runners.specs.tensor import Tensor
from kernelwright.tools.programs.opening import open_recorded
from kernelwright.tools.programs.recorded import keep_representative

SOURCE = """
#include "factor.h"
template <typename T>
__global__ void scaled(const T* x, T* y, int n, T a) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] * (T)factor();
}
extern "C" __global__ void in_place(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = x[i] * 0.5f + 1;
}
struct Table { float bias; float* const* rows; };
extern "C" __global__ void slow_scale(const float* x, float* y, int n, Table t) { y[0] = t.bias; }
extern "C" __global__ void counting(int* calls) { *calls = 1; }
"""
HEADER = "__constant__ int global_factor;\n__device__ int factor() { return global_factor; }\n"
ALL = TABLE, PLACED, COUNTED, LARGEST, MIDDLE, SMALLEST = (
    *("f0c0", "f1c2", "f2c3"),
    *("f3c4", "f3c5", "f3c6"),
)
"""labels of kept launches, by what each is of"""


@pytest.fixture(scope="module")
def recording(
    program: PretendedProgram, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Path]:
    """A program that launches one kernel in three sizes; a launch of each of its kernels kept."""
    outdir = tmp_path_factory.mktemp("sizes") / "rec"
    run = program_run(program, mode="sizes")
    record_program(run, outdir, Asked(), "shim")
    keep_representative(run, outdir, Asked(), only=ALL)
    yield outdir


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "factor.h").write_text(HEADER)
    file = tmp_path / "kernels.cu"
    file.write_text(SOURCE)
    return file


def spec_of(recording: Path, label: str, source: Path, **options: Any) -> dict[str, Any]:
    """What is written of a launch."""
    found = open_recorded(recording, label, source.parent / "made", source=source, **options)
    return json.loads(found.spec.read_text())


def arguments(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {a["name"]: a for a in spec["io"]["arguments"]}


def check(spec: Path) -> None:
    check_spec(load_file(spec, Roots([spec.parent])), spec.parent / "check")


def test_configurations_of_one_kernel_are_workloads_by_their_count(
    recording: Path, source: Path
) -> None:
    spec = spec_of(recording, LARGEST, source)
    assert spec["workloads"] == [
        {"name": LARGEST, "symbols": {"n": 1000}, "weight": 4},
        {"name": MIDDLE, "symbols": {"n": 500}, "weight": 2},
        {"name": SMALLEST, "symbols": {"n": 250}, "weight": 1, "held_out": True},
    ]
    (step,) = spec["kernel"]["plan"]["steps"]
    assert step == {"launch": "scaled<float>", "grid": ["cdiv(n, 128)"], "block": [128]}


def test_roles_types_and_sizes_are_those_of_the_instance(recording: Path, source: Path) -> None:
    found = arguments(spec_of(recording, LARGEST, source))
    assert found["x"]["role"] == "input"
    assert found["x"]["init"]["kind"] == "randn"  # another size in each: drawn like the recorded
    assert found["x"]["init"]["shift"] == pytest.approx(np.mean(np.arange(1000) % 7), abs=1e-3)
    assert found["y"] == {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]}
    assert found["a"]["value"] == 1.5


def test_small_recorded_values_stand_in_the_spec_itself(
    recording: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arguments_of_specs, "WITHIN_SPEC", 4000)
    x = arguments(spec_of(recording, PLACED, source))["x"]
    assert x["init"]["kind"] == "data"
    places = np.arange(1000)
    recorded = Tensor.model_validate(x["init"]["data"]).values()
    assert recorded.tolist() == (2.0 * (places % 7) + 10 * (places % 2 == 0)).tolist()
    assert not (source.parent / "made" / "x.npy").exists()


@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")
def test_a_template_with_a_header_and_a_constant_is_a_spec_that_holds(
    recording: Path, source: Path
) -> None:
    found = open_recorded(recording, LARGEST, source.parent / "made", source=source)
    spec = json.loads(found.spec.read_text())
    assert spec["kernel"]["files"] == ["factor.h"]
    assert spec["kernel"]["plan"]["setup"] == [{"set": "global_factor", "raw": "02000000"}]
    check(found.spec)


def test_recorded_values_lie_beside_the_spec_for_its_owner_alone(
    recording: Path, source: Path
) -> None:
    spec = spec_of(recording, PLACED, source)
    made = source.parent / "made"
    x = arguments(spec)["x"]
    assert (x["role"], x["init"]) == ("inout", {"kind": "file", "path": "x.npy"})
    places = np.arange(1000)
    expected = 2.0 * (places % 7) + 10 * (places % 2 == 0)
    values = np.load(made / "x.npy")
    assert values.dtype == np.float32
    assert values.tolist() == expected.tolist()
    assert (made / "x.npy").stat().st_mode & 0o077 == 0
    assert made.stat().st_mode & 0o077 == 0
    assert "plan" not in spec["kernel"]  # it reads no variable of its module


def test_a_reference_of_the_users_stands_in_the_spec(recording: Path, source: Path) -> None:
    own = source.with_name("truth.py")
    own.write_text("def reference(x, n):\n    return x * 0.5 + 1\n")
    assert spec_of(recording, PLACED, source)["reference"] == "baseline"
    shutil.rmtree(source.parent / "made")
    assert spec_of(recording, PLACED, source, reference=own)["reference"] == "reference.py"
    assert (source.parent / "made" / "reference.py").read_text() == own.read_text()


@pytest.mark.parametrize(
    ("label", "options", "why"),
    [
        (TABLE, {}, "`t` is `Table`, a structure with 1 pointers in it"),
        (COUNTED, {}, "the kernel keeps state in `global_calls`"),
        (PLACED, {"entry": "scaled"}, "takes 4 parameters in the source"),
        (PLACED, {"entry": "gone"}, "Valid: scaled, in_place, slow_scale, counting"),
        (PLACED, {"most_mib": 0}, "over 0 MiB with `x`"),
    ],
)
def test_what_no_spec_can_say_is_refused_in_a_sentence(
    recording: Path, source: Path, label: str, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(SpecError) as refused:
        spec_of(recording, label, source, **options)
    assert why in str(refused.value)
    assert not (source.parent / "made").exists()


def test_what_is_missing_is_told_with_what_to_do(recording: Path, source: Path) -> None:
    to = source.parent / "made"
    with pytest.raises(SpecError, match="nothing is known of the source of in_place") as nothing:
        open_recorded(recording, PLACED, to)
    assert "--source FILE.cu" in nothing.value.next_step
    with pytest.raises(HandleUnknown, match="f9c9"):
        open_recorded(recording, "f9c9", to, source=source)
    to.mkdir()
    (to / "mine").touch()
    with pytest.raises(AccessError, match="is there already"):
        open_recorded(recording, PLACED, to, source=source)


def test_a_launch_that_cannot_be_replayed_is_written_by_what_it_changed(
    recording: Path, source: Path, tmp_path: Path
) -> None:
    copied = shutil.copytree(recording, tmp_path / "copied")
    for image in copied.glob("kept/*/images/*"):
        image.write_bytes(b"nothing that a GPU runs")
    found = open_recorded(copied, LARGEST, tmp_path / "made", source=source)
    roles = {n: a["role"] for n, a in arguments(json.loads(found.spec.read_text())).items()}
    assert roles == {"x": "input", "y": "inout", "n": "scalar", "a": "scalar"}
    assert any("not run" in note for note in found.notes)


TRITON = """import os
import torch
import triton
from triton import language as tl

FACTOR = tl.constexpr(2)
print("a training script")


@triton.jit
def doubled(v):
    return v * FACTOR


@triton.autotune([triton.Config({"BLOCK": 128})], key=["n"])
@triton.jit
def scaled(x, y, n, a, step, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i * step, a * doubled(tl.load(x + i * step, mask=i < n)), mask=i < n)
"""
TYPES = {"x": "*fp32", "y": "*fp32", "n": "i32", "a": "fp32"}
FOLDED = {"(4,)": "1", "(5,)": "128", "(6,)": "False"}


def noted(recording: Path, folder: Path, **changed: Any) -> Path:
    """A copy of a recording whose machine code Triton says that it made of a script."""
    script = folder / "train.py"
    script.write_text(TRITON)
    copied = shutil.copytree(recording, folder / "noted")
    process = next(copied.glob("kept/*/"))
    (image,) = (process / "images").iterdir()
    row = {
        "name": "scaled",
        "cubin_sha256": hashlib.sha256(image.read_bytes()).hexdigest(),
        "file": str(script),
        "line": 15,
        "source": TRITON[TRITON.index("@triton.autotune") :],
        "arg_names": ["x", "y", "n", "a", "step", "BLOCK", "EVEN"],
        "signature": {**TYPES, "step": "constexpr", "BLOCK": "constexpr", "EVEN": "constexpr"},
        "constants": FOLDED,
        "num_warps": 2,
        "num_stages": 3,
        "num_ctas": 1,
    }
    (process / "triton.jsonl").write_text(json.dumps({**row, **changed}) + "\n")
    return copied


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed")
def test_a_kernel_of_triton_becomes_a_spec_that_holds_by_its_hash_alone(
    recording: Path, tmp_path: Path
) -> None:
    found = open_recorded(noted(recording, tmp_path), LARGEST, tmp_path / "made")
    spec = json.loads(found.spec.read_text())
    assert spec["kernel"]["launch"] == {
        "grid": ["cdiv(n, BLOCK)"],
        "constexprs": {"EVEN": False},
        "num_stages": 3,
    }
    assert spec["parameters"]["BLOCK"]["default"] == 128
    assert spec["parameters"]["num_warps"] == {"values": [1, 2, 4, 8, 16], "default": 2}
    assert [w["weight"] for w in spec["workloads"]] == [4, 2, 1]
    assert list(arguments(spec)) == ["x", "y", "n", "a", "step"]
    assert arguments(spec)["step"]["value"] == 1
    assert any("the source does not say it" in note for note in found.notes)
    check(found.spec)


def test_what_a_kernel_of_triton_names_is_cut_out_of_its_script(
    recording: Path, tmp_path: Path
) -> None:
    copied = noted(recording, tmp_path)
    open_recorded(copied, LARGEST, tmp_path / "made")
    text = (tmp_path / "made" / "kernel.py").read_text()
    assert all(each in text for each in ("import triton\n", "def doubled", "FACTOR"))
    assert not any(each in text for each in ("torch", "print", "autotune"))
    (tmp_path / "train.py").write_text("changed = 1\n")
    open_recorded(copied, LARGEST, tmp_path / "again")
    assert "def scaled" in (tmp_path / "again" / "kernel.py").read_text()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"signature": {**TYPES, "x": "tensordesc<fp32[16, 16]>"}}, "`x` is `tensordesc"),
        ({"constants": {**FOLDED, "(6,)": "None"}}, "`EVEN` of `scaled` was None"),
        ({"signature": {**TYPES, "n": "i64"}}, "`n` is `i64` to Triton and has 4 bytes"),
    ],
)
def test_what_triton_was_given_and_no_spec_can_say_is_refused(
    recording: Path, tmp_path: Path, changed: dict[str, Any], why: str
) -> None:
    with pytest.raises(SpecError) as refused:
        open_recorded(noted(recording, tmp_path, **changed), LARGEST, tmp_path / "made")
    assert why in str(refused.value)


def test_every_refusal_is_one_of_ours(recording: Path, source: Path) -> None:
    source.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(KernelwrightError, match="cannot be read as text"):
        spec_of(recording, PLACED, source)
