"""What a shared object imports and asks the processor, read from real builds and from bytes."""

from __future__ import annotations

import platform
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.machine_code.elf import Section
from kernelwright.runners.machine_code.rare_instructions import (
    MOST_DECODED,
    NOT_READ,
    Rare,
    rare_instructions,
)
from kernelwright.runners.machine_code.shared_object import (
    SharedObject,
    Symbol,
    name_parts,
    read_shared_object,
)

COMPILER = shutil.which("g++") or shutil.which("clang++")
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64", reason="assembly of x86-64")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")


def built(folder: Path, source: str) -> SharedObject:
    (folder / "k.cpp").write_text(source, encoding="utf-8")
    command = [str(COMPILER), "-O2", "-shared", "-fPIC", "-fvisibility=hidden", "k.cpp"]
    subprocess.run([*command, "-o", "k.so"], check=True, cwd=folder, timeout=120)
    return read_shared_object((folder / "k.so").read_bytes())


def of_bytes(
    code: bytes, machine: str = "x86_64", functions: tuple[int, ...] = (0,)
) -> SharedObject:
    section = Section(".text", 1, 6, len(code), 0, 0, code, 0x1000)
    symbols = tuple(Symbol(f"at{n}", True, 1, 0x1000 + n) for n in functions)
    return SharedObject(machine, (section,), symbols, ())


def names(code: bytes, machine: str = "x86_64") -> set[str]:
    return {each.name for each in rare_instructions(of_bytes(code, machine))}


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("0f05", "syscall"),
        ("0f34", "sysenter"),
        ("cd80", "int"),
        ("0f31", "rdtsc"),
        ("0f01f9", "rdtscp"),
        ("0f33", "rdpmc"),
        ("0f01fd", "rdpru"),
        ("0fa2", "cpuid"),
        ("f30fc7f8", "rdpid"),
        ("480fc7f0", "rdrand"),
        ("660faef0", "tpause"),
        ("f20faef1", "umwait"),
        ("0f01fb", "mwaitx"),
        ("0f01c1", "vmcall"),
        ("0f01d9", "vmmcall"),
        ("660f05", "syscall"),
    ],
)
def test_an_instruction_is_found_by_its_name(code: str, name: str) -> None:
    assert names(bytes.fromhex("90" + code + "c3")) == {name}


@pytest.mark.parametrize(
    "code",
    [
        "b80f05310f",  # mov eax, 0x0f31050f
        "48b80f050f310fa2cd80",  # mov rax, a constant that holds four of them
        "8b80cd800f05",  # mov eax, [rax + 0x050f80cd]
        "0faef0",  # mfence
        "0faef8",  # sfence
        "f3a4",  # rep movsb
    ],
)
def test_the_same_bytes_within_another_instruction_are_none(code: str) -> None:
    assert names(bytes.fromhex(code + "c3")) == set()


def test_an_instruction_within_another_counts_where_a_branch_leads_to_it() -> None:
    inside = bytes.fromhex("b80f310000")
    assert names(inside + b"\xc3") == set()
    assert names(b"\xeb\x01" + inside + b"\xc3") == {"rdtsc"}


def test_it_counts_where_a_function_or_an_address_that_is_worked_out_begins() -> None:
    hidden = bytes.fromhex("b80f05c3c3")
    assert {r.name for r in rare_instructions(of_bytes(hidden, functions=(0, 1)))} == {"syscall"}
    taken = bytes.fromhex("488d0502000000c3") + hidden  # lea rax, [rip + 2]
    assert {r.name for r in rare_instructions(of_bytes(taken))} == {"syscall"}


def test_it_is_told_in_which_function_it_stands() -> None:
    code = of_bytes(bytes.fromhex("c3900f31c3"), functions=(0, 2))
    assert rare_instructions(code) == (Rare("rdtsc", "at2"),)


@pytest.mark.parametrize(
    ("word", "name"),
    [
        (0xD4000001, "svc"),
        (0xD53BE040, "cntvct_el0"),
        (0xD53BE043, "cntvct_el0"),
        (0xD53B9D02, "pmccntr_el0"),
        (0xD5031007, "wfet"),
        (0xD5031021, "wfit"),
    ],
)
def test_words_of_aarch64_are_found(word: int, name: str) -> None:
    ret = 0xD65F03C0
    assert names(struct.pack("<3I", ret, word, ret), "aarch64") == {name}
    assert names(struct.pack("<2I", ret, ret), "aarch64") == set()


def test_what_is_not_read_is_said_so() -> None:
    assert rare_instructions(of_bytes(b"\x90", "number 8")) == (Rare(NOT_READ, ""),)
    large = b"\x0f\x05" + bytes(MOST_DECODED)
    assert rare_instructions(of_bytes(large)) == (Rare(NOT_READ, ""),)
    assert rare_instructions(of_bytes(b"\x90" * MOST_DECODED)) == ()


def test_a_name_of_cpp_is_taken_apart() -> None:
    assert name_parts("_ZNSt6chrono3_V212steady_clock3nowEv") == (
        *("chrono", "_V2", "steady_clock", "now"),
    )
    assert name_parts("time") == ("time",)
    assert name_parts("_Z99x") == () and name_parts("_Z") == ()
    assert name_parts("_Z" + "9" * 5000) == ()


@needs_compiler
@on_x86
def test_a_built_object_tells_what_it_imports_and_what_a_table_holds(tmp_path: Path) -> None:
    source = """
    extern "C" int other(int) asm("clock_" "gettime");
    __attribute__((section(".text.t"))) const unsigned char table[] = {0x0f, 0x31, 0xc3};
    extern "C" __attribute__((visibility("default"))) int k(int n) {
      const void* at = table;
      return other(n) + reinterpret_cast<int (*)()>(const_cast<void*>(at))();
    }
    """
    code = built(tmp_path, source)
    assert "clock_gettime" in code.imports
    assert {each.name for each in rare_instructions(code)} == {"rdtsc"}


@needs_compiler
def test_plain_sums_hold_none(tmp_path: Path) -> None:
    source = "void k(float* y, int n) { for (int i = 0; i < n; ++i) y[i] = 2 * y[i]; }"
    assert rare_instructions(built(tmp_path, source)) == ()


@pytest.mark.parametrize("image", [b"", b"\x7fELF", b"\x7fELF\x02\x01" + bytes(60)])
def test_what_is_no_shared_object_is_refused(image: bytes) -> None:
    with pytest.raises(SpecError):
        read_shared_object(image)
