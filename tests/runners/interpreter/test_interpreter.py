"""Triton kernels under the interpreter: right and wrong logic is told apart without a GPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.interpreter.logic import LOGIC_ONLY, NO_SMALL_SHAPE, logic_check
from kernelwright.runners.interpreter.runner import InterpreterRunner, interpreter_missing
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import GateResult
from kernelwright.runners.oracle.oracle import Oracle
from kernelwright.runners.protocol.messages import Block
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.specs.normalise import source_key

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
DEVICE = PROFILES[0][0]
HEAD = """\
import torch
import triton
import triton.language as tl


"""
KERNEL = """\
@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)
    tl.store(out + at, total, mask=inside)
"""
ADD = HEAD + KERNEL
WRAPPER = """

def entry(x, y):
    out = torch.empty(x.shape, dtype=x.dtype, device="cuda")
    n = x.numel()
    assert torch.device("cuda", 0) == x.device
    assert x.is_cuda and out.device == x.device and out.device.type == "cuda"
    most = torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
    assert most == 132 == triton.runtime.driver.active.utils.get_device_properties(0)[
        "multiprocessor_count"
    ]
    scratch = torch.zeros(n, device=triton.runtime.driver.active.get_active_torch_device())
    add[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, BLOCK=256)
    torch.cuda.synchronize()
    return out + scratch.to("cuda:0")
"""
LAUNCH = {"grid": ["cdiv(n, BLOCK)"]}
REFERENCE = "def reference(x, y, n):\n    return x + y\n"
ARRAYS = [
    {"name": "x", "role": "input", "dtype": "float32", "shape": ["n"]},
    {"name": "y", "role": "input", "dtype": "float32", "shape": ["n"]},
    {"name": "out", "role": "output", "dtype": "float32", "shape": ["n"]},
    {"name": "n", "role": "scalar", "dtype": "int32", "value": "n"},
]


@dataclass
class InterpreterBench:
    """Runner and oracle, started once for all tests: candidates run in forks of their own."""

    runner: InterpreterRunner
    oracle: Oracle
    folder: Path

    def check(self, source: str, *, timeout_s: float = 20.0, **spec: Any) -> GateResult:
        """The logic check of a source as the baseline of a kernel."""
        loaded = self.load(source, **spec)
        return self.check_variant(loaded, source, timeout_s)

    def load(self, source: str, **spec: Any) -> LoadedKernel:
        """A kernel: `entry`, `launch`, `arguments`, `reference` and fields of a spec."""
        kernel = {
            "kernel_type": "triton",
            "source_code": source,
            "metadata": {"kernel_name": spec.pop("entry", "add")},
            "launch": spec.pop("launch", LAUNCH),
        }
        data = {
            "name": "tried",
            "kernel": kernel,
            "io": {"arguments": spec.pop("arguments", ARRAYS)},
            "symbols": {"n": {"min": 1, "max": 1 << 24}},
            "workloads": [{"name": "main", "symbols": {"n": 1 << 20}}],
            "parameters": {"BLOCK": {"values": [512, 1024]}},
            "reference": {"source_code": REFERENCE},
        } | spec
        loaded = load_data(data, self.folder, Roots([self.folder]))
        self.oracle.open(loaded)
        return loaded

    def check_variant(
        self, loaded: LoadedKernel, source: str, timeout_s: float = 20.0, **changes: Any
    ) -> GateResult:
        """The logic check of another source of the same kernel."""
        changed = {"source": source, "source_key": source_key(source, "triton")} | changes
        variant = loaded.baseline().model_copy(update=changed)
        return logic_check(
            loaded, variant, DEVICE, runner=self.runner, oracle=self.oracle, timeout_s=timeout_s
        )


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InterpreterBench]:
    folder = tmp_path_factory.mktemp("interpreter")
    made = InterpreterBench(InterpreterRunner(folder), Oracle(folder), folder)
    yield made
    made.runner.close()
    made.oracle.close()


def test_functions_of_libdevice_are_computed_and_others_are_said_to_be_missing(
    bench: InterpreterBench,
) -> None:
    def scaled(function: str, numpy: str) -> GateResult:
        source = ADD.replace(
            "import triton.language as tl\n",
            "import triton.language as tl\nfrom triton.language.extra import libdevice\n",
        ).replace(
            "total = tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside)",
            f"total = libdevice.{function}(tl.load(x + at, mask=inside))",
        )
        truth = f"import torch\n\n\ndef reference(x, y, n):\n    return {numpy}\n"
        return bench.check(source, reference={"source_code": truth})

    known = scaled("tanh", "torch.tanh(x)")
    assert known.outcome == "passed", known.message
    unknown = scaled("j0", "torch.special.bessel_j0(x)")
    assert unknown.outcome == "skipped" and "libdevice.j0 is not interpreted" in unknown.message


def test_a_right_kernel_passes_and_the_message_says_what_that_is_worth(
    bench: InterpreterBench,
) -> None:
    found = bench.check(ADD)
    assert (found.gate, found.outcome) == ("logic_check", "passed"), found.message
    assert found.message.startswith("at n = 4099: 2 runs, ")
    assert LOGIC_ONLY in found.message
    assert found.evidence["symbols"] == {"n": 4099}


def test_a_variant_is_interpreted_with_its_own_launch(bench: InterpreterBench) -> None:
    loaded = bench.load(ADD)
    source = ADD.replace("BLOCK: tl.constexpr", "TILE: tl.constexpr = 64").replace("BLOCK", "TILE")
    right = bench.check_variant(loaded, source, plan={"grid": ["cdiv(n, TILE)"]})
    assert right.outcome == "passed", right.message
    few = bench.check_variant(loaded, source, plan={"grid": ["n // TILE"]})
    assert few.outcome == "failed", "the last elements have no program"


def test_a_wrong_kernel_fails_with_the_worst_index(bench: InterpreterBench) -> None:
    wrong = ADD.replace("tl.store(", "total = tl.where(at == 2500, 7.0e3, total)\n    tl.store(")
    found = bench.check(wrong)
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "is_right"
    assert tuple(found.evidence["worst_index"]) == (2500,)
    assert LOGIC_ONLY in found.message


def test_an_unmasked_tail_is_found_with_its_line(bench: InterpreterBench) -> None:
    found = bench.check(ADD.replace("total, mask=inside)", "total)"))
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "stays_in_its_buffers"
    assert "it writes byte 1 behind the end of `out`" in found.message
    assert "(line 11: `tl.store(out + at, total)`)" in found.message


def test_a_read_beside_a_buffer_is_found_as_well(bench: InterpreterBench) -> None:
    found = bench.check(ADD.replace("tl.load(x + at,", "tl.load(x + at - 1,"))
    assert found.outcome == "failed"
    assert "it reads byte 4 before the start of `x`" in found.message


def test_changed_inputs_are_found(bench: InterpreterBench) -> None:
    found = bench.check(ADD + "    tl.store(x + at, total, mask=inside)\n")
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "leaves_inputs_alone"


def test_what_never_ends_is_killed_and_nothing_is_said_of_it(bench: InterpreterBench) -> None:
    found = bench.check(ADD + "    while True:\n        at += 1\n", timeout_s=1.0)
    assert found.outcome == "skipped"
    assert "did not end within 1 s" in found.message
    assert bench.check(ADD).outcome == "passed"


def test_a_wrapper_for_cuda_tensors_runs_on_the_host(bench: InterpreterBench) -> None:
    found = bench.check(ADD + WRAPPER, entry="entry", launch=None)
    assert found.outcome == "passed", found.message


def test_a_wrapper_that_catches_what_went_wrong_does_not_hide_it(bench: InterpreterBench) -> None:
    hidden = ADD.replace("total, mask=inside)", "total)") + (
        "def entry(x, y, out, n):\n"
        "    try:\n"
        "        add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)\n"
        "    except Exception:\n"
        "        pass\n"
        "    out.copy_(x + y)\n"
    )
    found = bench.check(hidden, entry="entry", launch=None)
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "stays_in_its_buffers"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("add.warmup(x, y, out, n, BLOCK=64, grid=(1,))", "it asks for a compiled kernel"),
        ("torch.cuda.Stream()", "streams, events and graphs"),
        ("torch.empty(3, device='cuda:1')", "second device cuda:1"),
    ],
)
def test_what_a_wrapper_asks_of_a_gpu_is_skipped_whatever_it_catches(
    bench: InterpreterBench, line: str, words: str
) -> None:
    wrapper = (
        "def entry(x, y, out, n):\n"
        "    try:\n"
        f"        {line}\n"
        "    except Exception:\n"
        "        pass\n"
        "    add[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)\n"
    )
    found = bench.check(ADD + wrapper, entry="entry", launch=None)
    assert found.outcome == "skipped"
    assert words in found.message


def test_default_devices_may_be_cuda(bench: InterpreterBench) -> None:
    wrapper = (
        "torch.set_default_device('cuda')\n"
        "def entry(x, y):\n"
        "    with torch.device('cuda:0'):\n"
        "        out = torch.empty(x.numel())\n"
        "    add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)\n"
        "    return out\n"
    )
    found = bench.check(ADD + wrapper, entry="entry", launch=None)
    assert found.outcome == "passed", found.message


def test_torch_alone_is_no_kernel(bench: InterpreterBench) -> None:
    found = bench.check(HEAD + "def entry(x, y):\n    return x + y\n", entry="entry", launch=None)
    assert found.outcome == "failed"
    assert "it launched no kernel" in found.message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("total = tl.inline_asm_elementwise('', '=r,r', [total], tl.float32, True, 1)",
         "inline_asm not supported in interpreter mode"),
        ("total = tl.cast(total, tl.float8e4b15).to(tl.float32)", "fp8e4b15"),
        ("total = total * BLOCK.value / BLOCK.value", "'int' object has no attribute 'value'"),
    ],
)  # fmt: skip
def test_what_the_interpreter_cannot_do_is_skipped_with_the_reason(
    bench: InterpreterBench, line: str, words: str
) -> None:
    found = bench.check(ADD.replace("tl.store(", f"{line}\n    tl.store("))
    assert found.outcome == "skipped"
    assert "the interpreter cannot do this: " in found.message
    assert words in found.message


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("total, mask", "totla, mask", "NameError: name 'totla'"),
        ("BLOCK: tl.constexpr", "SIZE: tl.constexpr", "nothing provides the parameter `SIZE`"),
        ("inside = at < n", "tl.static_assert(BLOCK < 0, 'too long'); inside = at < n", "too long"),
        ("import torch\n", "import torch\ntorch.ones(3).view(2)\n", "RuntimeError: shape '[2]'"),
        ("import torch\n", "import torch, os\nos._exit(0)\n", "its process ended"),
    ],
)
def test_what_the_source_does_wrong_fails_in_its_own_words(
    bench: InterpreterBench, old: str, new: str, words: str
) -> None:
    found = bench.check(ADD.replace(old, new))
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "does_not_crash"
    assert words in found.message


@pytest.mark.parametrize(
    "mask",
    [
        "at < n and at >= 0",
        "at >= 0 and at < n and True",
        "not (at >= n or at < 0)",
        "at < n if n > 0 and BLOCK > 0 else at < 0",
    ],
)
def test_words_between_blocks_count_for_each_element(bench: InterpreterBench, mask: str) -> None:
    found = bench.check(ADD.replace("inside = at < n", f"inside = {mask}"))
    assert found.outcome == "passed", found.message


def test_a_float_that_a_launch_hands_over_is_a_value_of_the_kernel(bench: InterpreterBench) -> None:
    line = "total = (total * by.to(tl.float32)) / by"
    source = ADD.replace("tl.store(", f"{line}\n    tl.store(")
    entry = (
        "def entry(x, y, out):\n"
        "    add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), 2.0, BLOCK=64)\n"
    )
    source = source.replace("BLOCK: tl.constexpr", "by, BLOCK: tl.constexpr")
    found = bench.check(source + entry, entry="entry", launch=None)
    assert found.outcome == "passed", found.message


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_computed_as_a_gpu_does(bench: InterpreterBench, dtype: str) -> None:
    arguments = [{**a, "dtype": dtype} if "shape" in a else a for a in ARRAYS]
    source = ADD.replace("total = ", "total = 1.0 + ")
    reference = {"source_code": REFERENCE.replace("x + y", "1 + x + y")}
    found = bench.check(source, arguments=arguments, reference=reference)
    assert found.outcome == "passed", found.message


MATMUL = HEAD + """\
@triton.autotune(
    configs=[triton.Config({"BLOCK": b}, num_warps=w) for b in (64, 32) for w in (4, 8)],
    key=["n"],
)
@triton.jit
def matmul(a, b, c, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        inner = start + tl.arange(0, BLOCK)
        left = (rows[:, None] < n) & (inner[None, :] < n)
        right = (inner[:, None] < n) & (cols[None, :] < n)
        x = tl.load(a + rows[:, None] * n + inner[None, :], mask=left, other=0.0)
        y = tl.load(b + inner[:, None] * n + cols[None, :], mask=right, other=0.0)
        total = tl.dot(x, y, total)
    whole = (rows[:, None] < n) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * n + cols[None, :], total.to(c.dtype.element_ty), mask=whole)


def entry(a, b):
    n = a.shape[0]
    c = torch.empty_like(a)
    matmul[lambda meta: (triton.cdiv(n, meta["BLOCK"]), triton.cdiv(n, meta["BLOCK"]))](a, b, c, n)
    return c
"""  # fmt: skip


def test_an_autotuned_matmul_in_bfloat16_runs_one_configuration(bench: InterpreterBench) -> None:
    shape = {"dtype": "bfloat16", "shape": ["n", "n"]}
    arguments = [
        {"name": "a", "role": "input", **shape},
        {"name": "b", "role": "input", **shape},
        {"name": "c", "role": "output", **shape},
    ]
    found = bench.check(
        MATMUL,
        entry="entry",
        launch=None,
        arguments=arguments,
        symbols={"n": {"min": 1, "max": 96}},
        workloads=[{"name": "main", "symbols": {"n": 96}}],
        parameters={"BLOCK": {"values": [32, 64]}},
        reference={"source_code": "def reference(a, b):\n    return a @ b\n"},
    )
    assert found.outcome == "passed", found.message


def test_strided_arrays_and_their_gaps_are_kept(bench: InterpreterBench) -> None:
    arguments = [{**a, "strides": [3]} if "shape" in a else a for a in ARRAYS]
    source = ADD.replace("+ at", "+ 3 * at")
    assert bench.check(source, arguments=arguments).outcome == "passed"
    gaps = source + "    tl.store(out + 3 * at + 1, total, mask=at < n - 1)\n"
    found = bench.check(gaps, arguments=arguments)
    assert found.outcome == "failed"
    assert "it wrote between rows of out" in found.message


def test_without_a_reference_the_baseline_is_the_truth(bench: InterpreterBench) -> None:
    loaded = bench.load(ADD, reference="baseline")
    assert bench.check_variant(loaded, ADD).outcome == "passed"
    assert bench.check_variant(loaded, ADD.replace("+ at", "+ 0 + at")).outcome == "passed"
    found = bench.check_variant(loaded, ADD.replace("total, mask", "total + 1, mask"))
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "is_right"


def test_a_candidate_cannot_leave_anything_for_the_next(bench: InterpreterBench) -> None:
    spoiling = ADD.replace(
        "import torch\n", "import torch\nimport triton.language\ntriton.language.load = None\n"
    )
    assert bench.check(spoiling).outcome == "failed"
    assert bench.check(ADD).outcome == "passed"


@pytest.mark.parametrize(
    "reach",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
        "open('/etc/shadow').read()",
        "open('/tmp/kernelwright-was-here', 'w')",
    ],
)
def test_a_candidate_reaches_no_network_and_no_files(bench: InterpreterBench, reach: str) -> None:
    found = bench.check(ADD.replace("import torch\n", f"import torch\n{reach}\n"))
    assert found.outcome == "failed"
    assert "PermissionError" in found.message


def test_where_no_legal_shape_is_small_nothing_is_run(bench: InterpreterBench) -> None:
    found = bench.check(ADD, symbols={"n": None})
    assert (found.outcome, found.message) == ("skipped", NO_SMALL_SHAPE)


def test_the_interpreter_is_not_for_timing_and_takes_no_machine_code(
    bench: InterpreterBench,
) -> None:
    with pytest.raises(KernelwrightError, match="not for timing"):
        bench.runner.block(Block(pool="p", rounds=((),), calls={}, poison=0, timeout_s=1.0))
    with pytest.raises(KernelwrightError, match="prepare"):
        bench.runner.load("v", {}, ())


def test_the_child_loads_nothing_of_the_server() -> None:
    program = "import sys; import kernelwright.runners.interpreter.process; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.removeprefix("kernelwright.runners.") for name in done.stdout.split()}
    assert "interpreter.program" in loaded
    assert not loaded & {"interpreter.logic", "gates.checking", "oracle.oracle", "proxies.runner"}
