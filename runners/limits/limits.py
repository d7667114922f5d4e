"""What no kernel can beat: the machine's peaks, and the work that a contract demands.

A peak is *measured* here by a small program (`host_peaks.cpp`), or taken from a datasheet. A
measured peak is what one program reached at one moment: something to compare with, no law of
physics, so only datasheet peaks may block a result or end a search.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import psutil
from pydantic import Field, ValidationError

from ..errors import ExpressionError, ProcessLost, SpecError, ToolchainMissing
from ..model import Record
from ..native.cores import core_seconds
from ..processes.disk_room import ended_for_room, full, writing
from ..processes.killed import AGAIN, KILLED, compiler_killed
from ..processes.locks import timing_lock
from ..processes.process import Finished, Limits, clean_environment, run_limited
from ..specs.expressions import evaluate
from ..specs.io_contract import Contract
from ..specs.spec import Expression

SOURCE = Path(__file__).with_name("host_peaks.cpp")
# contraction is what turns `a * b + c` into one instruction; clang++ needs to be told
FLAGS = ("-O3", "-march=native", "-fopenmp", "-ffp-contract=fast", "-std=c++17")
CPUS = Path("/sys/devices/system/cpu")
SECONDS = 0.5  # of the copy and of fp32, half of it of fp64
DISTURBED = 0.03
"""Share of the processors' time that others may take: that of a kernel's samples (settling.py)."""
MOST_READINGS = 3
BUILD_S, RUN_S = 60.0, 30.0
PROGRAM = "the program that measures this machine"
CACHES = 4  # an array is this many times the last-level cache, within the two bounds below
LEAST_BYTES, MOST_BYTES = 64 << 20, 1 << 30


Source = Literal["measured", "datasheet"]
CoreSeconds = Mapping[int, tuple[float, float]]
"""by core: idle seconds and all, see `cores.core_seconds`"""


class Peaks(Record):
    """The most that a device moves and computes."""

    copy_bytes_per_s: float = Field(gt=0)
    """of a large copy in memory; bytes read and bytes written both count"""
    flops_per_s: float = Field(gt=0)
    """fp32 operations; a fused multiply-add counts as two"""
    cache_bytes: int | None = None
    """last-level cache; None: unknown"""
    source: Source
    """of the bandwidth, and of the operations where nothing else is said"""
    fp64_flops_per_s: float | None = None
    """of a host, apart; None: not measured"""
    others: float = 0.0
    """share of the processors' time that other programs took while it was measured"""
    flops_unit: str = "fp32"
    flops_source: Source | None = None
    cold: bool = False
    """times are taken with caches flushed: what fits in a cache still comes from memory"""
    device: str
    seconds: float = 0.0
    """what the measurement took, its compiler included"""
    method: str
    """how the numbers came about, in words"""


class Work(Record):
    """What a contract declares that any implementation must do; None: not declared."""

    bytes: float | None = Field(default=None, ge=0)
    flops: float | None = Field(default=None, ge=0)


class HostReading(Record):
    """What `host_peaks` prints."""

    copy_bytes_per_s: float
    copy_passes: int
    streams: bool
    array_bytes: int
    flops_per_s: float
    fp64_flops_per_s: float
    flop_passes: int
    lanes: int
    chains: int
    threads: int
    seconds: float = 0.0


def work(contract: Contract, symbols: Mapping[str, int]) -> Work:
    """The declared bytes and FLOPs at these sizes.

    Raises ExpressionError, and SpecError for a value that is negative or not finite.
    """
    return Work(
        bytes=_amount("io.bytes", contract.bytes, symbols),
        flops=_amount("io.flops", contract.flops, symbols),
    )


def measure_host(scratch: Path) -> Peaks:
    """The peaks of this machine's processors, on the cores that this process may use.

    Takes about 2 s, holding the host's timing lock while it measures; `scratch` keeps the
    compiled program. Raises ToolchainMissing and ProcessLost, NoRoom where the disk is full.
    """
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None:
        raise ToolchainMissing("measuring needs a C++ compiler", valid="g++ or clang++ on PATH")
    device = f"{_processor()}, {_count(len(os.sched_getaffinity(0)), 'core')}"
    cache = cache_bytes()
    with writing(scratch, PROGRAM):
        scratch.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=scratch) as private:  # logs of two processes must not meet
            binary, build_s = _compile(compiler, device, scratch, Path(private))
            reading, others = _undisturbed(binary, _array_bytes(cache), Path(private))
    return Peaks(
        copy_bytes_per_s=reading.copy_bytes_per_s,
        flops_per_s=reading.flops_per_s,
        fp64_flops_per_s=reading.fp64_flops_per_s,
        others=round(others, 3),
        cache_bytes=cache,
        source="measured",
        device=device,
        seconds=round(build_s + reading.seconds, 3),
        method=_method(reading) + _beside(others),
    )


def of_contract(peaks: Peaks, contract: Contract) -> Peaks:
    """A host's peaks for the operations of a contract: fp64 where its inputs are."""
    doubles = any(a.dtype == "float64" and a.role != "scalar" for a in contract.arguments)
    if not doubles or peaks.fp64_flops_per_s is None:
        return peaks
    return peaks.model_copy(update={"flops_per_s": peaks.fp64_flops_per_s, "flops_unit": "fp64"})


def cache_bytes(cpus: Path = CPUS) -> int | None:
    """All last-level cache of the cores that this process may use; None where it is not told."""
    caches = dict[tuple[int, str], int]()
    for core in os.sched_getaffinity(0):
        for index in (cpus / f"cpu{core}" / "cache").glob("index*"):
            try:
                level, shared_by, size = (
                    (index / name).read_text().strip()
                    for name in ("level", "shared_cpu_list", "size")
                )
            except OSError:  # virtual machines may show a cache without its size
                continue
            caches[int(level), shared_by] = int(size.removesuffix("K")) << 10
    last = max((level for level, _ in caches), default=0)
    return sum(size for (level, _), size in caches.items() if level == last) or None


def _amount(where: str, text: Expression | None, symbols: Mapping[str, int]) -> float | None:
    if text is None:
        return None
    try:
        value = evaluate(text, symbols)
    except ExpressionError as error:
        raise ExpressionError(f"{where}: {error.message}", valid=error.valid) from error
    if value < 0:
        raise SpecError(f"{where}: `{text}` is {value}", valid="0 or more")
    return float(value)


def _compile(compiler: str, device: str, kept: Path, scratch: Path) -> tuple[Path, float]:
    """The program, compiled once into `kept`, and the seconds that it took."""
    # native code belongs to one processor, and a folder may be shared between machines
    key = hashlib.sha256(SOURCE.read_bytes() + repr((compiler, FLAGS, device)).encode())
    binary = kept / f"host-peaks-{key.hexdigest()[:16]}"
    if binary.exists():
        return binary, 0.0
    partial = scratch / binary.name
    done = run_limited(
        [compiler, *FLAGS, "-o", partial, SOURCE],
        scratch=scratch,
        environment=clean_environment(scratch, {"LC_ALL": "C"}),
        limits=Limits(wall_s=BUILD_S),
    )
    if done.returncode != 0:
        _refuse_full(done, scratch)
        if compiler_killed(done.returncode, done.stderr):
            raise ProcessLost(f"the compiler of the measuring program {KILLED}", next_step=AGAIN)
        raise ToolchainMissing(
            f"the measuring program does not compile ({done.ending}):\n{done.stderr[-2000:]}",
            next_step="install g++ with OpenMP (libgomp)",
        )
    partial.rename(binary)
    return binary, done.wall_s


def _undisturbed(binary: Path, array_bytes: int, scratch: Path) -> tuple[HostReading, float]:
    """The reading that others disturbed least of a few, and the share of the time that they took:
    as a disturbed sample of a kernel is dropped, so is a disturbed peak."""
    found = list[tuple[float, HostReading]]()
    for _ in range(MOST_READINGS):
        with timing_lock("host"):
            before, (user, system) = core_seconds(), os.times()[2:4]
            reading = _run(binary, array_bytes, scratch)
            after, (user_after, system_after) = core_seconds(), os.times()[2:4]
        own = user_after + system_after - user - system
        found.append((share_of_others(before, after, own), reading))
        if found[-1][0] <= DISTURBED:
            break
    others, reading = min(found, key=lambda each: each[0])
    return reading, others


def share_of_others(before: CoreSeconds, after: CoreSeconds, own_s: float) -> float:
    """The share of the processors' time between two looks at them in which neither they idled nor
    we worked. `own_s`: processor seconds of ours meanwhile; 0 where the system does not tell."""
    cores = before.keys() & after.keys() & os.sched_getaffinity(0)
    total = sum(after[core][1] - before[core][1] for core in cores)
    idle = sum(after[core][0] - before[core][0] for core in cores)
    return max(0.0, total - idle - own_s) / total if total > 0 else 0.0


def _beside(others: float) -> str:
    if others <= DISTURBED:
        return ""
    return f"; other programs took {others:.0%} of the processors meanwhile, so it may be too low"


def _run(binary: Path, array_bytes: int, scratch: Path) -> HostReading:
    threads = len(os.sched_getaffinity(0))
    settings = {"OMP_NUM_THREADS": str(threads), "OMP_DYNAMIC": "false"}
    done = run_limited(
        [binary, str(array_bytes), str(SECONDS)],
        scratch=scratch,
        environment=clean_environment(scratch, settings),
        limits=Limits(wall_s=RUN_S),
    )
    try:
        if done.returncode == 0:
            reading = HostReading.model_validate_json(done.stdout)
            return reading.model_copy(update={"seconds": done.wall_s})
    except ValidationError as error:
        _refuse_full(done, scratch)
        raise ProcessLost(f"the measuring program printed {done.stdout[:200]!r}") from error
    _refuse_full(done, scratch)
    raise ProcessLost(f"measuring the host failed: {done.ending} {done.stderr[:500]}".strip())


def _refuse_full(done: Finished, scratch: Path) -> None:
    """Raises NoRoom where a program failed because its folder is full."""
    if ended_for_room(done.stderr, scratch):
        raise full(scratch.parent, PROGRAM)  # which outlives this call


def _array_bytes(cache: int | None) -> int:
    """Of each of the two arrays of the copy: beyond the caches, and an eighth of free memory."""
    wanted = min(max(LEAST_BYTES, CACHES * (cache or 0)), MOST_BYTES)
    free = psutil.virtual_memory().available  # what holds files for speed is free for us, too
    return max(1 << 20, min(wanted, free // 8))


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def _method(reading: HostReading) -> str:
    stores = "stores that bypass the caches" if reading.streams else "memcpy"
    threads = _count(reading.threads, "thread")
    return (
        f"best of {reading.copy_passes} copies of {reading.array_bytes >> 20} MiB ({stores}, "
        f"read and written bytes counted) and best of {reading.flop_passes} passes over "
        f"{reading.chains} independent chains of {reading.lanes}-wide fp32 multiply-adds, "
        f"on {threads}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
