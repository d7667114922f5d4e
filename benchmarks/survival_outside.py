"""Faults that come from outside: a worker killed or stopped, a folder removed, a disk full.

Each is done to the server while an honest variant is evaluated, or before.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from survival_leftovers import ours

from kernelwright.runners.model import Ending

E = Ending
RIGHT = (E.faster,)
LONGEST_WAIT_S = 0.8
"""after which a process is killed at the latest; an evaluation takes about as long"""
SIZE_MIB = 48
"""of each file system that is filled"""


@dataclass(frozen=True)
class OutsideFault:
    """What is done to us; `do` is a context in which an honest variant is evaluated."""

    name: str
    do: Callable[[Path, random.Random], Generator[None]]
    endings: tuple[Ending, ...] = (*RIGHT, E.lost)
    words: str = ""
    error: str = ""
    """the error that may come in place of an evaluation"""
    needs_mounts: bool = False
    heavy: bool = False


def signalled(role: str, number: int) -> Callable[[Path, random.Random], Generator[None]]:
    """Send a signal to a process of that role at a random moment, as soon as there is one that
    works (executors stand still between their turns)."""

    def do(_: Path, rng: random.Random) -> Generator[None]:
        over, wait_s = threading.Event(), rng.random() * LONGEST_WAIT_S

        def strike() -> None:
            over.wait(wait_s)
            while not over.is_set():
                with suppress(psutil.Error, IndexError, ProcessLookupError):
                    at_work = [p for p in ours(role) if p.status() != psutil.STATUS_STOPPED]
                    os.kill(rng.choice(at_work).pid, number)
                    return
                over.wait(0.002)

        thread = threading.Thread(target=strike, name="a hand from outside")
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    return do


def without(*parts: str) -> Callable[[Path, random.Random], Generator[None]]:
    """Remove a folder of the state folder, as somebody might who tidies up."""

    def do(outdir: Path, _: random.Random) -> Generator[None]:
        for part in parts:
            for inside in (outdir / part).glob("*"):
                shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
            with suppress(OSError):  # a mount point stays
                (outdir / part).rmdir()
        yield

    return do


def full(part: str) -> Callable[[Path, random.Random], Generator[None]]:
    """Fill the disk of a folder to its last byte, and free it again afterwards."""

    def do(outdir: Path, _: random.Random) -> Generator[None]:
        balloon = outdir / part / "balloon"
        try:
            with balloon.open("wb", buffering=0) as file:
                for size in (1 << 20, 1 << 12, 1):
                    with suppress(OSError):
                        while file.write(bytes(size)) == size:
                            pass
            yield
        finally:
            balloon.unlink()

    return do


@contextmanager
def mounted(outdir: Path) -> Generator[bool]:
    """Small file systems at the folders of `outdir`; False where this process may not mount."""
    made = list[Path]()
    try:
        for part in ("", "scratch", "modules", "compile_cache"):
            (outdir / part).mkdir(parents=True, exist_ok=True)
            command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MIB}m", "tmpfs", outdir / part]
            done = subprocess.run(command, capture_output=True, check=False)
            if done.returncode != 0:
                break
            made.append(outdir / part)
        yield len(made) == 4
    finally:
        for place in reversed(made):
            subprocess.run(["umount", "-l", place], check=False)


KILLED = "killed by SIGKILL|killed from outside|build process failed|channel"
STOPPED = "stopped from outside"
DISK = "disk of .* is full"
WORKERS = ("runner", "oracle", "reference", "zygote")


def _workers() -> tuple[OutsideFault, ...]:
    killed = [
        OutsideFault(f"{role} killed", signalled(role, signal.SIGKILL), words=KILLED)
        for role in (*WORKERS, "executor", "build", "compiler")
    ]
    stopped = [
        OutsideFault(f"{role} stopped", signalled(role, signal.SIGSTOP), words=STOPPED)
        for role in (*WORKERS, "executor")
    ]
    return (*killed, *stopped)


def _folders() -> tuple[OutsideFault, ...]:
    return (
        OutsideFault("scratch folder removed", without("scratch"), words="No such file|removed"),
        OutsideFault("modules folder removed", without("modules"), words="modules|No such file"),
        OutsideFault("compile cache removed", without("compile_cache"), RIGHT),
        OutsideFault("scratch folder full", full("scratch"), (E.lost,), DISK, needs_mounts=True),
        OutsideFault("modules folder full", full("modules"), (E.lost,), DISK, needs_mounts=True),
        OutsideFault("compile cache full", full("compile_cache"), RIGHT, needs_mounts=True),
        OutsideFault(
            "state file's disk full",
            full(""),
            RIGHT,  # what a transaction writes may still fit into the log that SQLite keeps
            "disk is full.*free space",
            error="StoreError",
            needs_mounts=True,
        ),
    )


HOST: tuple[OutsideFault, ...] = (*_workers(), *_folders())
DEVICE: tuple[OutsideFault, ...] = tuple(
    fault for fault in (*_workers(), *_folders()) if not fault.name.startswith("executor")
)
