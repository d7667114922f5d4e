"""What a shared object's entry comes to, in real builds."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

from kernelwright.runners.machine_code.rare_instructions import rare_instructions
from kernelwright.runners.machine_code.reachable import reached
from kernelwright.runners.machine_code.shared_object import read_shared_object

COMPILER = shutil.which("g++") or shutil.which("clang++")
pytestmark = [
    pytest.mark.skipif(COMPILER is None, reason="no C++ compiler"),
    pytest.mark.skipif(platform.machine() != "x86_64", reason="assembly of x86-64"),
]
BENCH = """
extern "C" long elsewhere();
#define SHOWN __attribute__((visibility("default")))
long bench() { return elsewhere() + __builtin_ia32_rdtsc(); }
long chain(int n) { return n > 3 ? 2 * chain(n - 1) + 1 : bench(); }
"""
TABLE = "struct Base { virtual long told(); }; long Base::told() { return bench(); } "
WAYS = {
    "a call": ("", "return bench();"),
    "calls of calls": ("", "return chain(n);"),
    "an address that it takes": ("", "long (*volatile way)() = &bench; return way();"),
    "an address in data": ("long (*volatile way)() = bench;", "return way();"),
    "a table of virtual functions": (
        TABLE + "Base* volatile one = new Base;",
        "return one->told();",
    ),
    "an initialiser": ("static long begun = bench();", "return begun;"),
    "a jump table": (
        "extern volatile int z; volatile int z;",
        "switch (n) { case 0: z = 1; break; case 1: z = 4; break; case 2: z = 5; return 9; "
        "case 3: return bench(); case 4: z = 8; break; case 5: z = 3; break; } return 0;",
    ),
    "a function that others may call, too": (
        "SHOWN long other() { return bench(); }",
        "return other();",
    ),
}
LEFT = {
    "a function that nobody calls": ("", ""),
    "one that others may call": ("SHOWN long other() { return bench(); }", ""),
}


def found(folder: Path, above: str, body: str, *flags: str) -> set[str]:
    """Rare instructions and the one import of our own that an entry `k` comes to."""
    entry = f'extern "C" SHOWN long k(int n) {{ {body} return n; }}'
    (folder / "k.cpp").write_text(f"{BENCH}{above}\n{entry}\n", encoding="utf-8")
    command = [str(COMPILER), "-O1", *flags, "-shared", "-fPIC", "-fvisibility=hidden", "k.cpp"]
    subprocess.run([*command, "-o", "k.so"], check=True, cwd=folder, timeout=120)
    code = read_shared_object((folder / "k.so").read_bytes())
    way = reached(code, {"k"})
    rare = {each.name for each in rare_instructions(code, way.instructions)}
    return rare | ({"elsewhere"} & way.imports)


@pytest.mark.parametrize("way", WAYS)
def test_reached_is_what_something_leads_to(way: str, tmp_path: Path) -> None:
    assert found(tmp_path, *WAYS[way]) == {"rdtsc", "elsewhere"}


@pytest.mark.parametrize("what", LEFT)
def test_not_reached_is(what: str, tmp_path: Path) -> None:
    assert found(tmp_path, *LEFT[what]) == set()


def test_without_names_of_functions_all_of_it_counts(tmp_path: Path) -> None:
    assert found(tmp_path, *LEFT["a function that nobody calls"], "-s") == {"rdtsc", "elsewhere"}
