"""What a server holds at a moment: processes, descriptors, threads, memory, files.

Two moments are compared by `leftovers`: what there is more of the second time was left behind.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from kernelwright.runners.native.executor import NAME as EXECUTOR
from kernelwright.runners.protocol.shared_arena import STOCK_BYTES

ROLES = {
    "kernelwright.runners.building.zygote": "zygote",
    "kernelwright.runners.forking.fork_server": "fork server",
    "kernelwright.runners.native.process": "runner",
    "kernelwright.runners.device.process": "runner",
    "kernelwright.runners.oracle.process": "oracle",
    "kernelwright.runners.oracle.reference_process": "reference",
    "kernelwright.runners.device.presence.probe": "probe",
}
GPU_MEMORY = "MiB of GPU memory"
SPARE = {GPU_MEMORY: 512}
"""what may be there more than before: buffers are kept for the next evaluation"""
_LOGS = (".stdout", ".stderr")


@dataclass(frozen=True)
class Held:
    """What belongs to this process and its state folder."""

    counts: Mapping[str, int]
    """processes by role, descriptors, threads, memory files and so on"""
    files: Mapping[str, int]
    """files in the scratch folder, digits of their names left out"""


def role_of(process: psutil.Process) -> str:
    """What a process of ours does; `other` for what is none of the known ones."""
    words = process.cmdline()
    known = next((ROLES[word] for word in words if word in ROLES), "")
    if known == "zygote":
        parent = process.parent()
        if parent is not None and any(word in ROLES for word in parent.cmdline()):
            return "build"
    if known:
        return known
    if words and words[0] == EXECUTOR:
        return "executor"
    return (
        "compiler" if words and Path(words[0]).name in ("cc1plus", "as", "g++", "ld") else "other"
    )


def ours(role: str) -> list[psutil.Process]:
    """The processes beneath this one that have that role."""
    found = list[psutil.Process]()
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            if role_of(process) == role:
                found.append(process)
    return found


def held(outdir: Path, gpu_bytes: Callable[[], int] | None = None) -> Held:
    """What this process holds now, and what any process at all holds of `outdir`."""
    counts = Counter[str]()
    beneath = psutil.Process().children(recursive=True)
    for process in beneath:
        with suppress(psutil.Error):
            counts[f"{role_of(process)} processes"] += 1
    counts["stray processes"] = len(list(_strays(outdir, {p.pid for p in beneath})))
    counts["descriptors"] = len(os.listdir("/proc/self/fd"))
    counts["threads"] = len(os.listdir("/proc/self/task"))
    counts["python threads"] = threading.active_count()
    counts["files in /dev/shm"] = len(os.listdir("/dev/shm"))
    sizes = [size for pid in (os.getpid(), *(p.pid for p in beneath)) for size in _arenas(pid)]
    counts["MiB of arenas beyond their stock"] = max(0, sum(sizes) - STOCK_BYTES) >> 20
    counts["memory files"] = sum(map(_memory_files, [os.getpid(), *(p.pid for p in beneath)]))
    if gpu_bytes is not None:
        counts[GPU_MEMORY] = gpu_bytes() >> 20
    return Held(dict(counts), _files(outdir / "scratch"))


def leftovers(before: Held, after: Held) -> list[str]:
    """What there is more of than there was, in words."""
    found = list[str]()
    for what, now in (*after.counts.items(), *after.files.items()):
        was = before.counts.get(what, before.files.get(what, 0))
        if now > was + SPARE.get(what, 0):
            found.append(f"{now - was} more {what}")
    return found


def settled(
    before: Held, outdir: Path, gpu_bytes: Callable[[], int] | None = None, patience_s: float = 5.0
) -> list[str]:
    """What is still left behind after a while: processes take a moment to be gone."""
    deadline = time.monotonic() + patience_s
    while found := leftovers(before, held(outdir, gpu_bytes)):
        if time.monotonic() > deadline:
            return found
        time.sleep(0.05)
    return []


def _strays(outdir: Path, known: set[int]) -> Iterator[psutil.Process]:
    """Processes that work in our folder or bear our mark, and are not beneath us."""
    folder, mark = str(outdir), f"{os.getpid()}."
    for process in psutil.process_iter():
        if process.pid in known or process.pid == os.getpid():
            continue
        with suppress(psutil.Error):
            environment = process.environ()
            words = [*process.cmdline(), process.cwd(), environment.get("TMPDIR", "")]
            bears = environment.get("KERNELWRIGHT_CHILD", "").startswith(mark)
            if bears or any(word.startswith(folder) for word in words):
                yield process


def _memory_files(pid: int) -> int:
    """Files without a name that are no arenas: of those a runner keeps a stock."""
    return sum(name.startswith("/memfd:") and ":arena" not in name for _, name in _open(pid))


def _arenas(pid: int) -> list[int]:
    found = list[int]()
    for fd, name in _open(pid):
        if name.startswith("/memfd:arena"):
            with suppress(OSError):
                found.append(os.stat(fd).st_size)
    return found


def _open(pid: int) -> list[tuple[str, str]]:
    """The descriptors of a process as paths in /proc, with what they lead to."""
    found = list[tuple[str, str]]()
    with suppress(OSError):
        for number in os.listdir(f"/proc/{pid}/fd"):
            with suppress(OSError):
                path = f"/proc/{pid}/fd/{number}"
                found.append((path, os.readlink(path)))
    return found


def _files(scratch: Path) -> dict[str, int]:
    found = Counter[str]()
    for path in scratch.rglob("*"):
        if path.is_file() and path.suffix not in _LOGS:
            found[re.sub(r"[\da-f]{6,}|\d+", "#", path.name)] += 1
    return dict(found)
