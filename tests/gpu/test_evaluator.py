"""Evaluations of GPU kernels from end to end, on a GPU, real or pretended: endings, and what comes
after a fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gpu_lift
import pytest
from device_kernels import GPUS, gpu_of
from tiers import cases

from kernelwright.evaluation.attached_kernels import MOST_ATTACHED
from kernelwright.evaluation.rig.open_kernel import OpenKernel
from kernelwright.evaluation.rig.rig import Rig
from kernelwright.runners.loading.files import LoadedKernel
from kernelwright.runners.model import Ending
from kernelwright.search.session.workbench import Workbench

SIZES = {"real": (1 << 20, 1000003), "pretended": (1 << 11, 1003)}
"""of the two workloads"""
TRIES = 5


@pytest.fixture(scope="module", params=GPUS)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workbench]:
    folder = tmp_path_factory.mktemp(request.param)
    with gpu_of(request.param, folder), Workbench(folder / "out", [folder]) as opened:
        yield opened


@pytest.fixture(scope="module")
def kernel(bench: Workbench) -> LoadedKernel:
    loaded = load(bench)
    bench.evaluator.open(loaded)
    return loaded


def load(bench: Workbench, **changes: Any) -> LoadedKernel:
    """`lift`, of a size that the GPU is done with soon; no times of a CPU are told apart but those
    that lie far from each other."""
    usual, hidden = SIZES["pretended" if is_pretended(bench) else "real"]
    if is_pretended(bench):
        changes = {"parameters": {"REPEAT": {"values": [100, 12, 3, 1]}}, **changes}
    workloads = [
        {"name": "usual", "symbols": {"n": usual}},
        {"name": "hidden", "symbols": {"n": hidden}, "held_out": True},
    ]
    return gpu_lift.load(bench.outdir.parent, workloads=workloads, **changes)


def is_pretended(bench: Workbench) -> bool:
    return bench.outdir.parent.name.startswith("pretended")


def shared(nbytes: int) -> dict[str, Any]:
    step = {"launch": "lift", "grid": [gpu_lift.GRID], "block": [256], "shared": nbytes}
    return {"steps": [step]}


FAULTS = {
    "writes to an address that is nobody's": (
        gpu_lift.spoiled("if (i == 7) *(float*)0x70000000000 = 1.0f;"), None,
        Ending.launch_failed, "illegal",
    ),
    "writes behind its output": (
        gpu_lift.spoiled("if (i == 7) y[n + 2] = 1.0f;"), None,
        Ending.unsafe, "behind the end of `y`",
    ),
    "writes before its output": (
        gpu_lift.spoiled("if (i == 7) y[-1] = 1.0f;"), None,
        Ending.unsafe, "before the start of `y`",
    ),
    "changes its input": (
        gpu_lift.spoiled("if (i == 7) const_cast<float*>(x)[3] = 0.0f;"), None,
        Ending.unsafe, "changed x",
    ),
    "never returns": (
        gpu_lift.spoiled("for (volatile int q = 0;;) q = 1;"), None,
        Ending.timed_out, "did not end within",
    ),
    "asks for more memory than there is": (
        None,
        {"buffers": {"big": {"nbytes": 1 << 42}}, **shared(0)},
        Ending.rejected, "memory",
    ),
    "asks for more shared memory than a block can have": (
        None, shared(300000), Ending.rejected, "shared",
    ),
    "uses more shared memory than it asked for": (
        gpu_lift.spoiled("extern __shared__ float s[]; s[60000 + i % 2] = 1.0f;"), None,
        Ending.launch_failed, "",
    ),
    "traps": (
        gpu_lift.spoiled('if (i == 7) asm volatile("trap;");'), None, Ending.launch_failed, "",
    ),
    "is misaligned": (
        gpu_lift.spoiled("if (i == 7) *(double*)((char*)y + 4) = 1.0;"), None,
        Ending.launch_failed, "misaligned",
    ),
    "skips the last element": (
        gpu_lift.spoiled("n = n - 1;"), None, Ending.wrong, "y[",
    ),
    "does not compile": (
        gpu_lift.spoiled("int m = = n;"), None, Ending.build_failed, "expected an expression",
    ),
}  # fmt: skip


@cases(
    "what",
    FAULTS,
    kinds=lambda what: [FAULTS[what][2]],
    why="further faults that end alike",
)
def test_a_fault_has_its_ending_and_the_next_evaluation_is_right(
    bench: Workbench, kernel: LoadedKernel, what: str
) -> None:
    source, plan, ending, said = FAULTS[what]
    parts = {k: v for k, v in (("source", source), ("plan", plan)) if v is not None}
    found = bench.evaluator.evaluate(gpu_lift.candidate(bench, kernel.kernel_id, **parts))
    assert (found.ending, found.tier) == (ending, "device"), found.message
    assert said in found.message
    after = gpu_lift.SOURCE + f"// after the one that {what}\n"
    harmless = gpu_lift.candidate(
        bench, kernel.kernel_id, source=after.replace("2.0f * kept", "1.0f + 1.0f * kept")
    )
    wrong = bench.evaluator.evaluate(harmless)
    assert wrong.ending is Ending.wrong  # judged, so the runner and the oracle work
    if not is_pretended(bench):
        compared = bench.evaluator.compare(bench.evaluator.kernel(kernel.kernel_id).baseline, [])
        assert compared.comparison is not None


def test_memory_that_local_arrays_set_aside_is_given_back(
    bench: Workbench, kernel: LoadedKernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_pretended(bench):
        pytest.skip("its memory is so large that an array of this size may stay")
    rested = list[str]()

    def rest(_: Rig, opened: OpenKernel) -> None:
        rested.append(opened.kernel_id)

    monkeypatch.setattr(Rig, "rest", rest)
    cases: tuple[tuple[int, list[str]], ...] = ((16, []), (2048, [kernel.kernel_id]))
    for bytes_a_thread, expected in cases:
        array = f"volatile char big[{bytes_a_thread}]; big[n % {bytes_a_thread}] = 1;"
        source = gpu_lift.spoiled(f"{array} if (big[(n + 1) % {bytes_a_thread}] == 7) return;")
        bench.evaluator.evaluate(gpu_lift.candidate(bench, kernel.kernel_id, source=source))
        assert rested == expected


def test_less_work_is_faster_and_becomes_incumbent(bench: Workbench, kernel: LoadedKernel) -> None:
    record = gpu_lift.candidate(bench, kernel.kernel_id, parameters={"REPEAT": 1})
    found = bench.evaluator.evaluate(record)
    tries = TRIES if is_pretended(bench) else 1  # a CPU with other work may be too noisy to tell
    for _ in range(tries):
        if found.ending is Ending.unstable:
            found = bench.evaluator.evaluate(record)
    assert found.ending is Ending.faster and found.became_incumbent, found.message
    assert found.comparison is not None and found.speedup is not None
    assert found.speedup - 1 > found.comparison.resolution
    assert any(bench.evaluator.confirm(found.variant_id).accepted for _ in range(tries))


def test_a_kernel_that_was_detached_is_attached_again(bench: Workbench) -> None:
    if is_pretended(bench):
        pytest.skip("the same on the host: tests/evaluation/test_attached_kernels.py")
    opened = [load(bench, name=f"lift{number}") for number in range(MOST_ATTACHED + 1)]
    for loaded in opened:
        bench.evaluator.open(loaded)
    record = gpu_lift.candidate(bench, opened[0].kernel_id, parameters={"REPEAT": 1})
    assert bench.evaluator.evaluate(record).ending is Ending.faster


def test_the_same_code_under_other_names_shares_its_measurement(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    renamed = gpu_lift.SOURCE.replace("kept", "seen")
    found = bench.evaluator.evaluate(gpu_lift.candidate(bench, kernel.kernel_id, source=renamed))
    assert found.same_code_as is not None


def test_a_build_tells_registers_and_keeps_ptx_and_sass(
    bench: Workbench, kernel: LoadedKernel
) -> None:
    record = gpu_lift.candidate(bench, kernel.kernel_id, parameters={"REPEAT": 3})
    outcome = bench.evaluator.build(record)
    assert outcome.facts is not None and (outcome.facts.registers or 0) > 0
    assert outcome.artifact is not None
    assert {"cubin", "ptx"} <= {m.kind for m in outcome.artifact.modules}
    assert not any("did not take it" in said for said in outcome.facts.warnings), (
        "the first one did"
    )


TRITON = """\
import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)
"""


def vector_add(n: int, align: int) -> dict[str, Any]:
    def array(name: str, role: str) -> dict[str, Any]:
        return {"name": name, "role": role, "dtype": "float32", "shape": ["n"], "align": align}

    return {
        "name": f"add_{n}_{align}",
        "kernel": {
            "kernel_type": "triton",
            "source_code": TRITON,
            "metadata": {"kernel_name": "add"},
            "launch": {"grid": ["cdiv(n, BLOCK)"]},
        },
        "io": {
            "arguments": [
                array("x", "input"),
                array("y", "input"),
                array("out", "output"),
                {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
            ]
        },
        "symbols": {"n": None},
        "workloads": [{"name": "only", "symbols": {"n": n}}],
        "parameters": {"BLOCK": {"values": [1024]}},
        "reference": {"source_code": "def reference(x, y, n):\n    return x + y\n"},
    }


def test_triton_specialises_on_divisibility_on_one_and_on_alignment_and_each_is_right(
    bench: Workbench, tmp_path: Path
) -> None:
    if is_pretended(bench):
        pytest.skip("no Triton on a pretended GPU")
    from kernelwright.runners.loading.files import Roots, load_data

    codes = dict[tuple[int, int], str]()
    for n, align in ((1 << 20, 16), ((1 << 20) + 1, 16), (1, 16), (1 << 20, 4)):
        loaded = load_data(vector_add(n, align), tmp_path, Roots([tmp_path]))
        record = bench.evaluator.open(loaded)  # refused if it were wrong
        outcome = bench.evaluator.build(bench.evaluator.variant(record.baseline))
        assert outcome.artifact is not None
        (cubin,) = (m.sha256 for m in outcome.artifact.modules if m.kind == "cubin")
        codes[n, align] = cubin
    assert len(set(codes.values())) == 4
