"""Variants run under compute-sanitizer: what is run, how the tool is asked, what comes back.

The GPU is pretended (`pretend_gpu/`), and a stand-in takes the tool's place: it runs what it is
told to watch, as the tool does, and saves a report that the test laid ready.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import device_kernels
import numpy as np
import pytest
from device_kernels import DeviceBench, gpu_of, integer, launch, pointer

from kernelwright.runners.model import GateResult
from kernelwright.runners.plans.plan import LaunchPlan
from kernelwright.runners.protocol.layout import record
from kernelwright.runners.protocol.messages import Pool
from kernelwright.runners.sanitizer import running as sanitizer
from kernelwright.runners.sanitizer.messages import SanitizerAnswer
from kernelwright.runners.specs.io_contract import Contract
from kernelwright.runners.toolchains.cuda_request import present
from kernelwright.runners.watched.running import subject_of, tool_version

pytestmark = pytest.mark.skipif(
    "nvrtc" not in present() or shutil.which("g++") is None, reason="no NVRTC with a g++ here"
)

STAND_IN = """\
#!{python}
import json, os, pathlib, subprocess, sys
words = sys.argv[1:]
here = pathlib.Path(__file__).parent
target = words.index({python!r})
told = dict(zip(words[:target], words[1:target]))
done = subprocess.run(words[target:])
kept = {{"options": words[:target], "returncode": done.returncode}}
job = pathlib.Path(words[-1]).parent
answer = job / "answer.json"
kept["answer"] = json.loads(answer.read_text()) if answer.exists() else None
(here / (told["--tool"] + ".json")).write_text(json.dumps(kept))
ready = here / (told["--tool"] + ".xml")
report = ready.read_text() if ready.exists() else "<ComputeSanitizerOutput/>"
pathlib.Path(told["--save"]).write_text(report)
pathlib.Path(told["--log-file"]).write_text("========= COMPUTE-SANITIZER\\n")
sys.exit(int(told["--error-exitcode"]) if "<record>" in report else 0)
"""
OVERRUN = """<ComputeSanitizerOutput><record><kind>Precise</kind><level>Error</level>
<what><text>Invalid __global__ write</text></what></record></ComputeSanitizerOutput>"""
CONTRACT: dict[str, Any] = {
    "arguments": [
        {"name": "a", "role": "input", "dtype": "float32", "shape": ["n"]},
        {"name": "b", "role": "inout", "dtype": "uint8", "shape": ["n"]},
        {"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]},
    ]
}
POOL = Pool(
    pool="p", contract=Contract.model_validate(CONTRACT), symbols={"n": 3}, label="w", slots=2
)
PLAN = LaunchPlan(label="w", kernels=(), buffers=(), steps=(), outputs=())
TOOLS = [f"sanitizer_{name}" for name in sanitizer.TOOLS]


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeviceBench]:
    with gpu_of("pretended", tmp_path_factory.mktemp("gpu")) as gpu:
        made = DeviceBench.of(gpu.device, tmp_path_factory.mktemp("bench"), twins=gpu.twins)
        made.load("right", device_kernels.RIGHT)
        made.load("faulty", FAULTY)
        yield made
        made.runner.close()


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the stand-in, where it finds reports and leaves what it was asked."""
    program = tmp_path / "tool" / "compute-sanitizer"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sanitizer, "program", lambda: program)
    return program.parent


FAULTY = device_kernels.HEAD + "    *(volatile float*)16 = x[0];\n}\n"


def outcomes(results: Sequence[GateResult]) -> list[str]:
    assert [r.gate for r in results] == TOOLS
    return [r.outcome for r in results]


def kept(tool: Path, name: str) -> dict[str, Any]:
    return json.loads((tool / f"{name}.json").read_text(encoding="utf-8"))


def test_all_four_tools_watch_two_runs_on_buffers_of_exact_size(
    bench: DeviceBench, tool: Path
) -> None:
    results = bench.runner.sanitize("right", ["k/w"])
    assert outcomes(results) == ["passed"] * 4, results
    for name in sanitizer.TOOLS:
        asked = kept(tool, name)
        answer = SanitizerAnswer.model_validate(asked["answer"])
        assert (answer.runs, answer.fault, asked["returncode"]) == (2, "", 0)
        assert {(a.buffer, a.nbytes) for a in answer.allocations} == {("x", 20000), ("y", 20000)}
        assert (["--padding", "32"] == asked["options"][2:4]) is (name == "memcheck")
    assert not list(bench.folder.glob("sanitizer.*"))  # nothing is left behind


def test_a_finding_fails_its_gate_alone(bench: DeviceBench, tool: Path) -> None:
    (tool / "initcheck.xml").write_text(OVERRUN, encoding="utf-8")
    results = bench.runner.sanitize("right", ["k/w"])
    assert outcomes(results) == ["passed", "failed", "passed", "passed"]


def test_a_fault_that_the_tool_does_not_explain_is_inconclusive(
    bench: DeviceBench, tool: Path
) -> None:
    (tool / "initcheck.xml").write_text(OVERRUN, encoding="utf-8")
    first = bench.runner.sanitize("faulty", ["k/w"])[0]
    assert first.outcome == "note" and "illegal address" in first.message
    assert kept(tool, "memcheck")["answer"]["runs"] == 0


def test_without_the_tool_every_gate_is_skipped_and_says_what_to_install(
    bench: DeviceBench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sanitizer, "program", lambda: None)
    results = bench.runner.sanitize("right", ["k/w"])
    assert outcomes(results) == ["skipped"] * 4
    assert "pip install nvidia-cuda-sanitizer-api" in results[0].message


def test_a_plan_that_is_too_large_is_not_watched(bench: DeviceBench, tool: Path) -> None:
    grown = launch("twice", 1 << 20, pointer("x"), pointer("y"), integer("n", 5000))
    bench.load("large", device_kernels.RIGHT, steps=[grown])
    results = bench.runner.sanitize("large", ["k/w"])
    assert outcomes(results) == ["skipped"] * 4
    assert results[0].message == "no shape is small enough"
    assert not (tool / "memcheck.json").exists()


def test_a_tool_that_does_not_start_is_skipped(bench: DeviceBench, tool: Path) -> None:
    (tool / "compute-sanitizer").write_text("#!/bin/sh\necho Error: no device\nexit 255\n")
    assert "Error: no device" in bench.runner.sanitize("right", ["k/w"])[0].message


def test_the_program_is_found_on_path_and_tells_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = tmp_path / "compute-sanitizer"
    found.write_text("#!/bin/sh\necho 'Version 2025.3.1.0 (build 1)'\n")
    found.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    sanitizer.program.cache_clear()
    try:
        assert sanitizer.program() == found
        assert tool_version(found) == "2025.3.1.0"
    finally:
        sanitizer.program.cache_clear()


def test_inputs_are_the_values_of_one_seed_without_what_lies_between_them(tmp_path: Path) -> None:
    layout = record(POOL.bound().inputs)
    seeds = np.arange(2 * layout.nbytes, dtype=np.uint8)
    (tmp_path / "values").write_bytes(seeds.tobytes())
    with (tmp_path / "values").open("rb") as file:
        subject = subject_of(POOL, file.fileno(), PLAN, slot=1)
    start = layout.nbytes
    wanted = [*seeds[start : start + 12], *seeds[start + 64 : start + 67]]
    assert list(subject.inputs) == wanted
