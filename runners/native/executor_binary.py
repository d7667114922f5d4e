"""The binary of the executors: compiled from `executor.cpp`, once for as long as it stays the same.

It starts before it binds itself, with all that its user may do. One that was compiled earlier, also
by another server, is therefore taken from a folder only where nobody else can have written it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from contextlib import suppress
from pathlib import Path

from ..errors import ProcessLost, ToolchainMissing
from ..processes.disk_room import FULL_WORDS, full
from ..processes.killed import AGAIN, KILLED, compiler_killed
from ..whole_files import replacing

SOURCE = Path(__file__).with_name("executor.cpp")
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def compile_executor(folder: Path, kept: Path | None = None) -> Path:
    """The executor binary in `folder`: what lies there, a copy of the one in `kept`, or compiled
    anew and then left in `kept`, where that can be written to.

    Raises ToolchainMissing and ProcessLost.
    """
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise ToolchainMissing("host kernels need a C++ compiler", valid="g++ or clang++ on PATH")
    binary = folder / _name(compiler)
    if binary.exists():
        return binary
    folder.mkdir(parents=True, exist_ok=True)
    if kept is not None and _is_ours(kept / binary.name):
        with suppress(OSError):  # removed meanwhile
            return _copied(kept / binary.name, binary)
    _compile(compiler, binary)
    if kept is not None:
        with suppress(OSError):  # read-only, or full: the next one compiles it again
            kept.mkdir(parents=True, exist_ok=True)
            _copied(binary, kept / binary.name)
    return binary


def _name(compiler: str) -> str:
    """Another one for each source and compiler: the one of another machine may need what is not
    here."""
    status = os.stat(compiler)
    found = f"{os.path.realpath(compiler)} {status.st_size} {status.st_mtime_ns}"
    return f"executor-{hashlib.sha256(SOURCE.read_bytes() + found.encode()).hexdigest()[:16]}"


def _is_ours(path: Path) -> bool:
    """Whether it is a file that this user alone can have written."""
    with suppress(OSError):
        status = path.lstat()
        ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
        return ours and not status.st_mode & OTHERS_WRITE
    return False


def _copied(source: Path, target: Path) -> Path:
    with replacing(target) as partial:
        shutil.copyfile(source, partial)
        partial.chmod(0o700)
    return target


def _compile(compiler: str, binary: Path) -> None:
    with replacing(binary) as partial:
        command = [compiler, "-O2", "-std=c++17", "-o", str(partial), str(SOURCE), "-ldl"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if any(words in done.stderr for words in FULL_WORDS):
            raise full(binary.parent, "the executor")
        if compiler_killed(done.returncode, done.stderr):
            raise ProcessLost(f"the compiler of the executor {KILLED}", next_step=AGAIN)
        if done.returncode != 0:
            raise ToolchainMissing(f"the executor does not compile:\n{done.stderr[-2000:]}")
