"""Twins: device code compiled for the host, found by the hash of the machine code they stand for.

A source is rewritten where C++ of the host has no words for it (below), g++ compiles it with
`include/device_shim.h` before it, and what comes out is kept as `<sha256 of the image>.so`.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.runners.device.support import PTX
from kernelwright.runners.machine_code.cubin import read_cubin

HERE = Path(__file__).parent
RUNTIME, INCLUDE = HERE / "runtime", HERE / "include"
DRIVER = "libcuda.so.1"
SHIM = "device_shim.h"
PLAIN = ("g++", "-std=c++17", "-fPIC", "-U_FORTIFY_SOURCE", "-pthread")
COMMON = (*PLAIN, "-shared")
BARE = ("gcc", *PLAIN[1:], "-shared", "-nostdlib")
"""The driver's library has what a twin wants of libraries; to link them takes half the time."""
TWIN = (
    "-O1", "-w", "-fno-gnu-unique", "-fno-strict-aliasing", "-fwrapv", "-fno-finite-loops",
    "-fno-delete-null-pointer-checks", "-fsanitize=alignment",
    "-fsanitize-undefined-trap-on-error",
)  # fmt: skip
"""No rule of C++ takes away what a kernel does wrong: it has to happen, and to be met."""

_SHARED = re.compile(
    r"extern\s+__shared__\s+((?:__align__|alignas)\s*\(\s*\w+\s*\)\s*)?"
    r"((?:[\w:]+\s+)*?[\w:<>, ]+?)\s*(\b\w+)\s*\[\s*\]\s*;"
)
_ASM = r"\basm\s*(?:volatile\s*)?\(\s*"
_REWRITES: tuple[tuple[re.Pattern[str], str], ...] = (
    # every thread of the host has shared memory of its own
    (_SHARED, r"static thread_local \2* const \3 = (\2*)pretend::dynamic_shared();"),
    (
        re.compile(_ASM + r'"mov\.u64\s+%0,\s*%%?(?:globaltimer|clock64);"\s*:\s*"=l"\s*\((\w+)\)'
        r"[^;]*\)\s*;"),
        r"\1 = pretend::nanoseconds();",
    ),
    (
        re.compile(_ASM + r'"mov\.u32\s+%0,\s*%%?clock;"\s*:\s*"=r"\s*\((\w+)\)[^;]*\)\s*;'),
        r"\1 = (unsigned)pretend::nanoseconds();",
    ),
    (
        re.compile(_ASM + r'"mov\.u32\s+%0,\s*%%?smid;"\s*:\s*"=r"\s*\((\w+)\)[^;]*\)\s*;'),
        r"\1 = 0;",
    ),
    (re.compile(_ASM + r'"trap;"[^;)]*\)\s*;'), "__trap();"),
    (re.compile(_ASM + r'"exit;"[^;)]*\)\s*;'), "pretend_exit();"),
)  # fmt: skip
_INCLUDED = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


class TwinFailed(Exception):
    """A source that g++ does not take, with the rewritten text and what g++ said."""


@dataclass(frozen=True)
class Twins:
    """The folder of the driver's library and of all twins. Safe for threads and processes."""

    folder: Path

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def make_driver(self) -> None:
        """The runtime, under the name by which a driver is looked for, what every twin begins with,
        read already, and the support twin."""
        sources = sorted(RUNTIME.glob("*.cpp"))
        name = f"-Wl,-soname,{DRIVER}"
        self._compiled(DRIVER, [*map(str, sources)], ["-O2", name], "")
        header = str(INCLUDE / SHIM)
        self._compiled(f"{SHIM}.gch", ["-x", "c++-header", header], TWIN, "", common=PLAIN)
        image = PTX.read_bytes() + b"\0"
        entries = re.findall(r"\.entry (\w+)", image.decode())
        source = PTX.with_suffix(".cu").read_text(encoding="utf-8")
        self._make(image, source, entries, (), (), {})

    def make(
        self,
        cubin: bytes,
        source: str,
        defines: Sequence[str] = (),
        *,
        files: Mapping[str, str] | None = None,
    ) -> Path:
        """The twin of a cubin, compiled unless it is there.

        `defines`: flags of the kind `-DNAME=1`; `files`: headers beside the source, by name.
        Raises TwinFailed.
        """
        info = read_cubin(cubin)
        # a variable within a function has no name outside it
        named = {n: each for n, each in info.globals.items() if not n.startswith("_ZZ")}
        globals_ = [name for name, each in named.items() if each.size]
        return self._make(cubin, source, list(info.entries), globals_, defines, files or {})

    def _make(
        self,
        image: bytes,
        source: str,
        entries: Sequence[str],
        globals_: Sequence[str],
        defines: Sequence[str],
        files: Mapping[str, str],
    ) -> Path:
        target = self.folder / f"{hashlib.sha256(image).hexdigest()}.so"
        if target.exists():
            return target
        tables = "\n".join([*_entries(entries), *_globals(globals_)])
        text = f'#include "{SHIM}"\n#line 1\n{rewritten(source)}\n{tables}\n'
        with tempfile.TemporaryDirectory(dir=self.folder) as beside:
            for name, content in files.items():
                (Path(beside) / name).write_text(rewritten(content), encoding="utf-8")
            (Path(beside) / "twin.cpp").write_text(text, encoding="utf-8")
            flags = [*TWIN, *defines, f"-I{self.folder}", f"-I{INCLUDE}", f"-I{beside}"]
            flags += [f"-L{self.folder}", f"-l:{DRIVER}", "-Wl,-Bsymbolic"]
            try:
                return self._compiled(target.name, [f"{beside}/twin.cpp"], flags, text, common=BARE)
            except TwinFailed:  # one with an object that has to be destroyed at the end
                return self._compiled(target.name, [f"{beside}/twin.cpp"], flags, text)

    def _compiled(
        self,
        name: str,
        sources: Sequence[str],
        flags: Sequence[str],
        text: str,
        *,
        common: Sequence[str] = COMMON,
    ) -> Path:
        target = self.folder / name
        if target.exists():
            return target
        partial = self.folder / f"{name}.{os.getpid()}.{threading.get_ident()}"
        command = [*common, "-o", str(partial), *sources, *flags]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise TwinFailed(f"{done.stderr[:4000]}\n--- {name}, rewritten:\n{text[:8000]}")
        partial.rename(target)
        return target


def rewritten(source: str) -> str:
    """A CUDA source as the host's compiler can take it, line for line."""
    for pattern, replacement in _REWRITES:
        source = pattern.sub(replacement, source)
    return source


def _entries(names: Sequence[str]) -> Iterator[str]:
    """The table of kernels. A mangled name becomes an expression of its full type, which also
    instantiates templates and picks among overloads."""
    yield 'extern "C" __attribute__((used)) const pretend::Entry pretend_entries[] = {'
    for name in names:
        plain = demangled(name)
        if plain is None:
            yield f'    PRETEND_ENTRY("{name}", &{name}),'
            continue
        kernel, parameters = _split(plain)
        parts = f"(static_cast<void (*){parameters}>(&{kernel}))"
        yield f'    PRETEND_ENTRY("{name}", {parts}),'
    yield "    {nullptr, nullptr, nullptr, 0}};"


def _globals(names: Sequence[str]) -> Iterator[str]:
    """The table of variables; those of the compiler's own making have no name in the source."""
    yield 'extern "C" __attribute__((used)) const pretend::Global pretend_globals[] = {'
    for name in names:
        plain = demangled(name) or name
        if re.fullmatch(r"(?:\w+::)*[A-Za-z_]\w*", plain) and not plain.startswith("__"):
            yield f'    {{"{name}", (void*)&{plain}, sizeof({plain})}},'
    yield "    {nullptr, nullptr, 0}};"


def _split(plain: str) -> tuple[str, str]:
    """`void f<float>(int*)` as name and parameters: ("f<float>", "(int*)")."""
    depth, at = 0, len(plain)
    while True:
        at -= 1
        depth += {")": 1, "(": -1}.get(plain[at], 0)
        if not depth:
            break
    name = plain[:at].strip()
    depth = 0
    for index, letter in enumerate(name):  # a template's name has its result before it
        depth += {"<": 1, ">": -1, "(": 1, ")": -1}.get(letter, 0)
        if letter == " " and not depth:
            name = name[index + 1 :]
            break
    return name, plain[at:]


def demangled(name: str) -> str | None:
    """A C++ name from machine code as it is written; None for one that is not mangled."""
    if not name.startswith("_Z"):
        return None
    library = ctypes.CDLL("libstdc++.so.6")
    demangle = library["__cxa_demangle"]
    demangle.restype = ctypes.c_void_p
    status = ctypes.c_int()
    found = demangle(name.encode(), None, None, ctypes.byref(status))
    if not found:
        return None
    text = ctypes.string_at(found).decode()
    ctypes.CDLL(None).free(ctypes.c_void_p(found))
    return text
