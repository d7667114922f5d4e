"""The screen of host machine code: what blocks, what is probed, and what a contract allows."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.plans.plan import Artifact, Module
from kernelwright.runners.screens.instructions.host_code import host_code_findings
from kernelwright.runners.screens.instructions.machine_code import screen_artifact
from kernelwright.runners.screens.source import wants_probes
from kernelwright.runners.specs.io_contract import Contract

COMPILER = shutil.which("g++") or shutil.which("clang++")
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="assembly of x86-64"),
]
ALLOWED = [{"name": "rdtsc", "reason": "each result has its time"}]


def image(folder: Path, body: str, above: str = "") -> bytes:
    head = "#include <chrono>\n#include <thread>\n#include <vector>\n#include <cpuid.h>\n"
    entry = 'extern "C" __attribute__((visibility("default"))) int k(int n) {\n'
    (folder / "k.cpp").write_text(f"{head}{above}\n{entry}{body}\n}}\n", encoding="utf-8")
    command = [str(COMPILER), "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "k.cpp"]
    subprocess.run([*command, "-o", "k.so"], check=True, cwd=folder, timeout=120)
    return (folder / "k.so").read_bytes()


def found(folder: Path, body: str, above: str = "") -> set[tuple[str, str]]:
    return {(each.tier, each.name) for each in host_code_findings(image(folder, body, above))}


def test_a_clock_is_refused_by_its_name_in_the_standard_library(tmp_path: Path) -> None:
    body = "return std::chrono::steady_clock::now().time_since_epoch().count() % n;"
    assert found(tmp_path, body) == {("block", "steady_clock")}


def test_threads_that_are_left_behind_are_refused(tmp_path: Path) -> None:
    assert ("block", "detach") in found(tmp_path, "std::thread([] {}).detach(); return n;")
    assert found(tmp_path, "std::thread([] {}).join(); return n;") == set()


def test_what_unwinding_needs_is_no_look_at_callers(tmp_path: Path) -> None:
    above = "void may_throw(int n) { if (n == 7) throw n; }"
    body = "std::vector<int> v(n); may_throw(n); return v.at(3);"
    assert found(tmp_path, body, above) == set()
    walks = 'extern "C" int look(void*, void*) asm("_Unwind_Backtrace");'
    assert found(tmp_path, "return look(&n, &n);", walks) == {("block", "_Unwind_Backtrace")}


def test_what_the_compiler_asks_for_itself_is_no_finding(tmp_path: Path) -> None:
    assert found(tmp_path, 'return __builtin_cpu_supports("avx2") ? n : 0;') == set()


def test_who_asks_the_processor_itself_is_probed(tmp_path: Path) -> None:
    body = "unsigned a, b, c, d; return __get_cpuid(1, &a, &b, &c, &d) ? int(b) : n;"
    assert found(tmp_path, body) == {("probe", "cpuid")}


def screen(folder: Path, content: bytes, **contract: Any) -> Any:
    module = Module(sha256="0" * 64, kind="so", nbytes=len(content))
    artifact = Artifact(
        variant_id="v", toolchain="t", target="x", modules=(module,), plans={}, code_hash=""
    )
    arguments = [{"name": "y", "role": "output", "dtype": "float32", "shape": ["n"]}]
    made = Contract.model_validate({"arguments": arguments, **contract})
    return screen_artifact(artifact, lambda _: folder / "k.so", made)


def test_a_contract_allows_an_instruction_by_name(tmp_path: Path) -> None:
    content = image(tmp_path, "return static_cast<int>(__builtin_ia32_rdtsc()) + n;")
    refused = screen(tmp_path, content)
    assert refused.outcome == "failed"
    assert "function `k`: `rdtsc` reads a clock" in refused.message and "`allow`" in refused.message
    allowed = screen(tmp_path, content, allow=ALLOWED)
    assert allowed.outcome == "note" and wants_probes([allowed])
    assert "each result has its time" in allowed.message


def test_plain_code_passes(tmp_path: Path) -> None:
    assert screen(tmp_path, image(tmp_path, "return 2 * n;")).outcome == "passed"
