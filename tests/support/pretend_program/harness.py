"""The pretended driver, its program and its machine code, built once; and the way to run them."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from kernelwright.runners.recording.fronts import Asked, Request
from kernelwright.runners.recording.library import built_libraries, header_folder
from kernelwright.runners.recording.reading import read_recordings
from kernelwright.runners.recording.recording import (
    COUNT,
    Program,
    keep_launches,
    record_program,
)
from kernelwright.runners.whole_files import replacing

HERE = Path(__file__).parent
ROUNDS = 400
_recorded = dict[Path, Path]()


@dataclass(frozen=True)
class PretendedProgram:
    """Files of it, all in `folder`."""

    folder: Path

    @property
    def slow(self) -> Path:
        """The program's own machine code."""
        return self.folder / "slow.so"

    @property
    def fast(self) -> Path:
        """The same kernels, `slow_scale` without its useless rounds."""
        return self.folder / "fast.so"

    @property
    def wrong(self) -> Path:
        """As fast, with other results."""
        return self.folder / "wrong.so"

    def command(self, rounds: int = 5, mode: str = "") -> tuple[str, ...]:
        """The command line of a run."""
        return (
            str(self.folder / "program"),
            str(self.slow),
            str(rounds),
            *([mode] if mode else []),
        )


@contextmanager
def pretended_program(folder: Path) -> Generator[PretendedProgram]:
    """Within it, programs that we start find the pretended driver, and the recorder's libraries lie
    in `folder`, which may be shared by all tests of a session."""
    folder.mkdir(parents=True, exist_ok=True)
    _build_all(folder)
    libraries = folder / "cache"
    before = os.environ.get("LD_LIBRARY_PATH")
    environment = {
        "LD_LIBRARY_PATH": f"{folder}:{before}" if before else str(folder),
        "XDG_CACHE_HOME": str(libraries),
    }
    with mock.patch.dict(os.environ, environment):
        built_libraries()
        yield PretendedProgram(folder)


def _build_all(folder: Path) -> None:
    include = f"-I{header_folder()}"
    shared = ("-shared", "-fPIC", "-O1")
    rounds = f"-DROUNDS={ROUNDS}"
    kernels = str(HERE / "kernels.c")
    _build(
        folder / "libcuda.so.1",
        *shared,
        include,
        str(HERE / "driver.c"),
        "-ldl",
        "-Wl,-soname,libcuda.so.1",
    )
    _build(folder / "slow.so", *shared, rounds, "-DADDED=0", kernels)
    _build(folder / "fast.so", *shared, "-DROUNDS=1", "-DADDED=0", kernels)
    _build(folder / "wrong.so", *shared, "-DROUNDS=1", "-DADDED=1", kernels)
    _build(
        folder / "program",
        "-O1",
        include,
        str(HERE / "program.c"),
        f"-L{folder}",
        "-l:libcuda.so.1",
        "-ldl",
        "-rdynamic",
    )


def _build(target: Path, *arguments: str) -> None:
    compiler = shutil.which("gcc") or "g++"
    digest = hashlib.sha256(repr(arguments).encode())
    for name in ("driver.c", "kernels.c", "program.c"):
        digest.update((HERE / name).read_bytes())
    stamp = target.with_name(f".{target.name}.{digest.hexdigest()[:16]}")
    if stamp.exists() and target.exists():
        return
    with replacing(target) as partial:
        subprocess.run([compiler, *arguments, "-o", str(partial)], check=True, timeout=60)
    stamp.touch()


def program_run(
    program: PretendedProgram, rounds: int = 5, mode: str = "", timeout_s: float | None = 60.0
) -> Program:
    """A run of it, as the recorder takes it."""
    return Program(program.command(rounds, mode), program.folder, timeout_s=timeout_s)


def kept_requests(recorded: Path) -> list[Request]:
    """Requests for every kernel of a recording."""
    recording = read_recordings(recorded / COUNT)[0]
    return [
        Request(f"c{c.id}", c.first_plain, c.grid, c.block, c.shared, c.scalars, c.function.name)
        for c in recording.configurations
    ]


def recorded_once(program: PretendedProgram, factory: pytest.TempPathFactory) -> Path:
    """A recording with a launch of every kernel kept, made once a session."""
    if program.folder not in _recorded:
        outdir = factory.mktemp("recorded") / "rec"
        record_program(program_run(program), outdir, Asked(), "shim")
        keep_launches(program_run(program), outdir, kept_requests(outdir), Asked(), "shim")
        _recorded[program.folder] = outdir
    return _recorded[program.folder]
