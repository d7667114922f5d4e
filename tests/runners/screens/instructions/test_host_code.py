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


OTHER_NAMES = {
    "__clock_gettime": "reads a clock",
    "__gettimeofday": "reads a clock",
    "ntp_gettime": "reads a clock",
    "timer_settime": "reads a clock",
    "__open64_nocancel": "opens files",
    "__open_2": "opens files",
    "__libc_fork": "starts a program",
    "__fxstat64": "asks which files there are",
    "dladdr": "asks who runs it",
    "dlvsym": "loads code at run time",
    "__libc_secure_getenv": "looks at its environment",
    "__backtrace": "looks at its callers",
    "__libc_sigaction": "runs outside its call",
    "ssignal": "runs outside its call",
    "sigset": "runs outside its call",
    "__longjmp_chk": "ends the process",
    "pthread_exit": "ends the process",
}
"""what else the C library calls its functions, and functions like them"""
HONEST = [
    ("return std::accumulate(&n, &n + 1, 0);", "#include <numeric>"),
    ("std::vector<int> v(n); std::sort(v.begin(), v.end()); return v[0];", "#include <algorithm>"),
    ("static std::mutex own; std::lock_guard held(own); return n;", "#include <mutex>"),
    ("std::thread a([] {}), b([] {}); a.join(); b.join(); return n;", ""),
    ("return std::async(std::launch::async, [n] { return 2 * n; }).get();", "#include <future>"),
    ("if (n < 0) std::abort(); return n;", "#include <cstdlib>"),
    ("return int(std::sin(n) + std::fma(n, n, 1.0));", "#include <cmath>"),
    ("try { return std::vector<int>(n).at(9); } catch (const std::exception&) { return 0; }", ""),
    ("std::atomic<int> a{n}; a.fetch_add(1); return a.load();", "#include <atomic>"),
    ('char text[16]; return std::snprintf(text, 16, "%d", n);', "#include <cstdio>"),
    ("return int(sysconf(_SC_NPROCESSORS_ONLN)) * n;", "#include <unistd.h>"),
    ("return *static_cast<int*>(std::memmove(&n, &n, sizeof n));", "#include <cstring>"),
    ("std::mt19937 drawn(n); return int(drawn());", "#include <random>"),
    ("return time_steps(n);", "int time_steps(int n) { return 2 * n; }"),
]
"""bodies, and what stands above them: threads, locks, exceptions, tables and the like"""


def image(folder: Path, body: str, above: str = "") -> bytes:
    head = "#include <chrono>\n#include <thread>\n#include <vector>\n#include <cpuid.h>\n"
    entry = 'extern "C" __attribute__((visibility("default"))) int k(int n) {\n'
    (folder / "k.cpp").write_text(f"{head}{above}\n{entry}{body}\n}}\n", encoding="utf-8")
    command = [
        str(COMPILER),
        "-O2",
        "-std=c++17",
        "-shared",
        "-fPIC",
        "-fvisibility=hidden",
        "k.cpp",
    ]
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


def test_functions_are_refused_by_their_other_names_in_the_library(tmp_path: Path) -> None:
    names = list(OTHER_NAMES)
    above = "\n".join(f'extern "C" long f{i}(int*) asm("{n}");' for i, n in enumerate(names))
    body = f"return int({' + '.join(f'f{i}(&n)' for i in range(len(names)))});"
    told = host_code_findings(image(tmp_path, body, above))
    assert {each.tier for each in told} == {"block"}
    for name, reason in OTHER_NAMES.items():
        assert any(each.name == name and reason in each.reason for each in told), name


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """All of them in one object, each an entry of its own."""
    shown = 'extern "C" __attribute__((visibility("default"))) int'
    bodies = [
        f"{above}\n{shown} k{i}(int n) {{ {body} }}" for i, (body, above) in enumerate(HONEST)
    ]
    return image(tmp_path_factory.mktemp("honest"), "return n;", "\n".join(bodies))


@pytest.mark.parametrize("number", range(len(HONEST)), ids=[body for body, _ in HONEST])
def test_what_kernels_honestly_use_of_the_library_passes(honest: bytes, number: int) -> None:
    told = host_code_findings(honest, [f"k{number}"])
    assert {each.tier for each in told} <= {"note"}, told
