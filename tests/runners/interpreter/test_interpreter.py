"""Triton kernels under the interpreter: right and wrong logic is told apart without a GPU."""

from __future__ import annotations

import subprocess
import sys

import pytest
from interpreting import ADD, ARRAYS, HEAD, REFERENCE, InterpreterBench

from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.interpreter.logic import LOGIC_ONLY, NO_SMALL_SHAPE
from kernelwright.runners.interpreter.runner import interpreter_missing
from kernelwright.runners.model import GateResult
from kernelwright.runners.protocol.messages import Block

pytestmark = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
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


def test_functions_of_libdevice_are_computed_and_others_are_said_to_be_missing(
    interpreted: InterpreterBench,
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
        return interpreted.check(source, reference={"source_code": truth})

    known = scaled("tanh", "torch.tanh(x)")
    assert known.outcome == "passed", known.message
    unknown = scaled("j0", "torch.special.bessel_j0(x)")
    assert unknown.outcome == "skipped" and "libdevice.j0 is not interpreted" in unknown.message


def test_a_right_kernel_passes_and_the_message_says_what_that_is_worth(
    interpreted: InterpreterBench,
) -> None:
    found = interpreted.check(ADD)
    assert (found.gate, found.outcome) == ("logic_check", "passed"), found.message
    assert found.message.startswith("at n = 4099: 2 runs, ")
    assert LOGIC_ONLY in found.message
    assert found.evidence["symbols"] == {"n": 4099}


def test_a_variant_is_interpreted_with_its_own_launch(interpreted: InterpreterBench) -> None:
    loaded = interpreted.load(ADD)
    source = ADD.replace("BLOCK: tl.constexpr", "TILE: tl.constexpr = 64").replace("BLOCK", "TILE")
    right = interpreted.check_variant(loaded, source, plan={"grid": ["cdiv(n, TILE)"]})
    assert right.outcome == "passed", right.message
    few = interpreted.check_variant(loaded, source, plan={"grid": ["n // TILE"]})
    assert few.outcome == "failed", "the last elements have no program"


def test_a_wrong_kernel_fails_with_the_worst_index(interpreted: InterpreterBench) -> None:
    wrong = ADD.replace("tl.store(", "total = tl.where(at == 2500, 7.0e3, total)\n    tl.store(")
    found = interpreted.check(wrong)
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "is_right"
    assert tuple(found.evidence["worst_index"]) == (2500,)
    assert LOGIC_ONLY in found.message


def test_an_unmasked_tail_is_found_with_its_line(interpreted: InterpreterBench) -> None:
    found = interpreted.check(ADD.replace("total, mask=inside)", "total)"))
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "stays_in_its_buffers"
    assert "it writes byte 1 behind the end of `out`" in found.message
    assert "(line 11: `tl.store(out + at, total)`)" in found.message


def test_a_read_beside_a_buffer_is_found_as_well(interpreted: InterpreterBench) -> None:
    found = interpreted.check(ADD.replace("tl.load(x + at,", "tl.load(x + at - 1,"))
    assert found.outcome == "failed"
    assert "it reads byte 4 before the start of `x`" in found.message


def test_changed_inputs_are_found(interpreted: InterpreterBench) -> None:
    found = interpreted.check(ADD + "    tl.store(x + at, total, mask=inside)\n")
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "leaves_inputs_alone"


def test_what_never_ends_is_killed_and_nothing_is_said_of_it(interpreted: InterpreterBench) -> None:
    found = interpreted.check(ADD + "    while True:\n        at += 1\n", timeout_s=1.0)
    assert found.outcome == "skipped"
    assert "did not end within 1 s" in found.message
    assert interpreted.check(ADD).outcome == "passed"


def test_a_wrapper_for_cuda_tensors_runs_on_the_host(interpreted: InterpreterBench) -> None:
    found = interpreted.check(ADD + WRAPPER, entry="entry", launch=None)
    assert found.outcome == "passed", found.message


def test_a_wrapper_that_catches_what_went_wrong_does_not_hide_it(
    interpreted: InterpreterBench,
) -> None:
    hidden = ADD.replace("total, mask=inside)", "total)") + (
        "def entry(x, y, out, n):\n"
        "    try:\n"
        "        add[(triton.cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)\n"
        "    except Exception:\n"
        "        pass\n"
        "    out.copy_(x + y)\n"
    )
    found = interpreted.check(hidden, entry="entry", launch=None)
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
    interpreted: InterpreterBench, line: str, words: str
) -> None:
    wrapper = (
        "def entry(x, y, out, n):\n"
        "    try:\n"
        f"        {line}\n"
        "    except Exception:\n"
        "        pass\n"
        "    add[(triton.cdiv(n, 64),)](x, y, out, n, BLOCK=64)\n"
    )
    found = interpreted.check(ADD + wrapper, entry="entry", launch=None)
    assert found.outcome == "skipped"
    assert words in found.message


def test_default_devices_may_be_cuda(interpreted: InterpreterBench) -> None:
    wrapper = (
        "torch.set_default_device('cuda')\n"
        "def entry(x, y):\n"
        "    with torch.device('cuda:0'):\n"
        "        out = torch.empty(x.numel())\n"
        "    add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), BLOCK=64)\n"
        "    return out\n"
    )
    found = interpreted.check(ADD + wrapper, entry="entry", launch=None)
    assert found.outcome == "passed", found.message


def test_torch_alone_is_no_kernel(interpreted: InterpreterBench) -> None:
    found = interpreted.check(
        HEAD + "def entry(x, y):\n    return x + y\n", entry="entry", launch=None
    )
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
    interpreted: InterpreterBench, line: str, words: str
) -> None:
    found = interpreted.check(ADD.replace("tl.store(", f"{line}\n    tl.store("))
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
    interpreted: InterpreterBench, old: str, new: str, words: str
) -> None:
    found = interpreted.check(ADD.replace(old, new))
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
def test_words_between_blocks_count_for_each_element(
    interpreted: InterpreterBench, mask: str
) -> None:
    found = interpreted.check(ADD.replace("inside = at < n", f"inside = {mask}"))
    assert found.outcome == "passed", found.message


def test_a_float_that_a_launch_hands_over_is_a_value_of_the_kernel(
    interpreted: InterpreterBench,
) -> None:
    line = "total = (total * by.to(tl.float32)) / by"
    source = ADD.replace("tl.store(", f"{line}\n    tl.store(")
    entry = (
        "def entry(x, y, out):\n"
        "    add[(triton.cdiv(x.numel(), 64),)](x, y, out, x.numel(), 2.0, BLOCK=64)\n"
    )
    source = source.replace("BLOCK: tl.constexpr", "by, BLOCK: tl.constexpr")
    found = interpreted.check(source + entry, entry="entry", launch=None)
    assert found.outcome == "passed", found.message


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_floats_are_computed_as_a_gpu_does(
    interpreted: InterpreterBench, dtype: str
) -> None:
    arguments = [{**a, "dtype": dtype} if "shape" in a else a for a in ARRAYS]
    source = ADD.replace("total = ", "total = 1.0 + ")
    reference = {"source_code": REFERENCE.replace("x + y", "1 + x + y")}
    found = interpreted.check(source, arguments=arguments, reference=reference)
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


def test_an_autotuned_matmul_in_bfloat16_runs_one_configuration(
    interpreted: InterpreterBench,
) -> None:
    shape = {"dtype": "bfloat16", "shape": ["n", "n"]}
    arguments = [
        {"name": "a", "role": "input", **shape},
        {"name": "b", "role": "input", **shape},
        {"name": "c", "role": "output", **shape},
    ]
    found = interpreted.check(
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


def test_strided_arrays_and_their_gaps_are_kept(interpreted: InterpreterBench) -> None:
    arguments = [{**a, "strides": [3]} if "shape" in a else a for a in ARRAYS]
    source = ADD.replace("+ at", "+ 3 * at")
    assert interpreted.check(source, arguments=arguments).outcome == "passed"
    gaps = source + "    tl.store(out + 3 * at + 1, total, mask=at < n - 1)\n"
    found = interpreted.check(gaps, arguments=arguments)
    assert found.outcome == "failed"
    assert "it wrote between rows of out" in found.message


def test_without_a_reference_the_baseline_is_the_truth(interpreted: InterpreterBench) -> None:
    loaded = interpreted.load(ADD, reference="baseline")
    assert interpreted.check_variant(loaded, ADD).outcome == "passed"
    assert interpreted.check_variant(loaded, ADD.replace("+ at", "+ 0 + at")).outcome == "passed"
    found = interpreted.check_variant(loaded, ADD.replace("total, mask", "total + 1, mask"))
    assert found.outcome == "failed"
    assert found.evidence["gate"] == "is_right"


def test_a_candidate_cannot_leave_anything_for_the_next(interpreted: InterpreterBench) -> None:
    spoiling = ADD.replace(
        "import torch\n", "import torch\nimport triton.language\ntriton.language.load = None\n"
    )
    assert interpreted.check(spoiling).outcome == "failed"
    assert interpreted.check(ADD).outcome == "passed"


@pytest.mark.parametrize(
    "reach",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9), 1)",
        "open('/etc/shadow').read()",
        "open('/tmp/kernelwright-was-here', 'w')",
    ],
)
def test_a_candidate_reaches_no_network_and_no_files(
    interpreted: InterpreterBench, reach: str
) -> None:
    found = interpreted.check(ADD.replace("import torch\n", f"import torch\n{reach}\n"))
    assert found.outcome == "failed"
    assert "PermissionError" in found.message


def test_where_no_legal_shape_is_small_nothing_is_run(interpreted: InterpreterBench) -> None:
    found = interpreted.check(ADD, symbols={"n": None})
    assert (found.outcome, found.message) == ("skipped", NO_SMALL_SHAPE)


def test_the_interpreter_is_not_for_timing_and_takes_no_machine_code(
    interpreted: InterpreterBench,
) -> None:
    with pytest.raises(KernelwrightError, match="not for timing"):
        interpreted.runner.block(Block(pool="p", rounds=((),), calls={}, poison=0, timeout_s=1.0))
    with pytest.raises(KernelwrightError, match="prepare"):
        interpreted.runner.load("v", {}, ())


def test_the_child_loads_nothing_of_the_server() -> None:
    program = "import sys; import kernelwright.runners.interpreter.process; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    loaded = {name.removeprefix("kernelwright.runners.") for name in done.stdout.split()}
    assert "interpreter.program" in loaded
    assert not loaded & {"interpreter.logic", "gates.checking", "oracle.oracle", "proxies.runner"}
