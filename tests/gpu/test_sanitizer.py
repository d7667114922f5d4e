"""compute-sanitizer on a GPU: each of its tools finds what was planted for it, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import device_kernels
import pytest
from device_kernels import HEAD, INDEX, DeviceBench, gpu_of, integer, launch, pointer

from kernelwright.runners.model import GateResult
from kernelwright.runners.sanitizer import running as sanitizer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(sanitizer.program() is None, reason=f"no {sanitizer.PROGRAM} here"),
]

OVERRUN = HEAD + INDEX + "    if (i <= n) y[i] = 2 * (i < n ? x[i] : 0);\n}\n"
READS_BEYOND = HEAD + INDEX + "    if (i < n) y[i] = x[i] + x[i + 1];\n}\n"
UNWRITTEN = (
    HEAD.replace("int n", "int n, const float* part")
    + INDEX
    + "    if (i < n) y[i] = 2 * x[i] + part[3];\n}\n"
)
READS_ITS_OUTPUT = HEAD + INDEX + "    if (i < n) y[i] += 2 * x[i];\n}\n"
RACE = (
    HEAD
    + "    __shared__ float s[256];\n"
    + INDEX
    + "    s[threadIdx.x] = i < n ? x[i] : 0;\n"
    + "    if (i < n) y[i] = s[(threadIdx.x + 33) % 256];\n}\n"
)
DIVERGENT = (
    HEAD
    + INDEX
    + "    if (threadIdx.x % 32 < 7) __syncthreads();\n"
    + "    if (i < n) y[i] = 2 * x[i];\n}\n"
)
PLANTED = {
    "writes one element behind its output": (OVERRUN, "sanitizer_memcheck", 3, "of `y`"),
    "reads one element behind its input": (READS_BEYOND, "sanitizer_memcheck", 3, "of `x`"),
    "reads scratch that nobody wrote": (UNWRITTEN, "sanitizer_initcheck", 3, "of `part`"),
    "adds to an output": (READS_ITS_OUTPUT, "sanitizer_initcheck", 3, "of `y`"),
    "reads shared memory before it is written": (RACE, "sanitizer_racecheck", None, ""),
    "has a barrier that some threads leave out": (DIVERGENT, "sanitizer_synccheck", 3, ""),
}
"""source, gate, line of the source, buffer that the message names"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeviceBench]:
    with gpu_of("real", tmp_path_factory.mktemp("gpu")) as gpu:
        made = DeviceBench.of(gpu.device, tmp_path_factory.mktemp("bench"))
        yield made
        made.runner.close()


def watch(bench: DeviceBench, source: str) -> tuple[GateResult, ...]:
    changes = dict[str, Any]()
    if source is UNWRITTEN:
        n = bench.bound.symbols["n"]
        params = [pointer("x"), pointer("y"), integer("n", n), pointer("part")]
        changes = {"scratch": [("part", 64)], "steps": [launch("twice", -(-n // 256), *params)]}
    bench.load("watched", source, **changes)
    return bench.runner.sanitize("watched", ["k/w"])


def test_a_clean_kernel_passes_all_four(bench: DeviceBench) -> None:
    results = watch(bench, device_kernels.RIGHT)
    assert [(r.gate, r.outcome) for r in results] == [
        (f"sanitizer_{tool}", "passed") for tool in sanitizer.TOOLS
    ], results


@pytest.mark.parametrize("what", PLANTED)
def test_what_was_planted_is_found_by_its_tool_with_the_line(bench: DeviceBench, what: str) -> None:
    source, gate, line, buffer = PLANTED[what]
    results = watch(bench, source)
    failed = [r for r in results if r.outcome == "failed"]
    assert [r.gate for r in failed] == [gate], results
    assert buffer in failed[0].message
    first = failed[0].evidence["records"][0]
    assert "twice" in first["where"]["kernel"]
    assert line is None or first["where"]["line"] == line, first


def test_the_runner_works_after_a_watched_fault(bench: DeviceBench) -> None:
    watch(bench, OVERRUN)
    assert bench.works()
