"""What the device runner costs, and how well it tells a kernel from itself.

    python benchmarks/device_runner.py [RESULT.json]

Measures seconds from nothing to a first checked run, a check and a block of a small and of a large
kernel, the spread of blocks of a kernel against itself, and whether cache lines that a kernel asks
to keep survive our flush. Needs nvcc.
"""

from __future__ import annotations

import math
import sys
import time
from pathlib import Path
from statistics import mean, median, stdev
from tempfile import TemporaryDirectory
from typing import Any

from environment import ROOT, write

sys.path.insert(0, str(ROOT / "tests" / "support"))
from device_kernels import HEAD, INDEX, RIGHT, THREADS, DeviceBench, integer, launch, pointer

from kernelwright.runners.device.presence.probing import probe_devices

SIZES = {"small": 1 << 18, "large": 1 << 26}
CALLS = {"small": 64, "large": 1}
BLOCKS, ROUNDS = 40, 4
SESSIONS, SESSION_BLOCKS = 12, 12
KEEPING = (
    HEAD
    + INDEX
    + (
        "    unsigned long long keep; float v = 0;\n"
        '    asm("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(keep));\n'
        '    if (i < n) asm volatile("ld.global.L2::cache_hint.f32 %0, [%1], %2;"\n'
        '        : "=f"(v) : "l"(x + i), "l"(keep));\n'
        "    if (i < n && v == 12345) y[i] = v;\n}\n"
    )
)
READING = KEEPING.replace("evict_last", "evict_normal")


def main() -> None:
    """Everything, printed and written."""
    with TemporaryDirectory() as folder:
        probed = probe_devices(Path(folder))
        if not probed.devices:
            raise SystemExit(f"no GPU: {probed.why_none}")
        device = probed.devices[0]
        result: dict[str, Any] = {"device": device.model_dump(exclude={"uuid"}), "kernels": {}}
        for name, n in SIZES.items():
            bench = DeviceBench.of(device, Path(folder), symbols={"n": n}, slots=8)
            result["kernels"][name] = _kernel(bench, name)
            if name == "small":
                result["sessions"] = _sessions(bench)
                result["kept_lines"] = _kept_lines(device, Path(folder))
            else:
                result["copy_bytes_per_s"] = bench.runner.copy_bandwidth()
            bench.runner.close()
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    print(write("device_runner", result, path))


def _kernel(bench: DeviceBench, name: str) -> dict[str, Any]:
    bench.load("a", RIGHT)
    bench.load("b", RIGHT + "// the same\n")
    started = time.perf_counter()
    bench.check("a", (0,))
    first_s = time.perf_counter() - started
    checks, blocks, ratios, clocks = list[float](), list[float](), list[float](), set[int]()
    for _ in range(10):
        started = time.perf_counter()
        bench.check("a", (0, 1))
        checks.append(time.perf_counter() - started)
    calls = {"a": CALLS[name], "b": CALLS[name]}
    known = {str(r.slot): (r.digest,) for r in bench.check("a", range(8))[0]}
    times = list[float]()
    for number in range(BLOCKS):
        orders = [["a", "b"], ["b", "a"]] * (ROUNDS // 2)
        started = time.perf_counter()
        block, _ = bench.block(orders if number % 2 else orders[::-1], calls, known)
        blocks.append(time.perf_counter() - started)
        a, b = (median(side.nanoseconds) for side in block.sides)
        ratios.append(math.log(a / b))
        times.append(a)
        clocks |= set(block.conditions.sm_mhz)
        if number in (0, BLOCKS - 1):
            print(name, number, block.conditions, [s.nanoseconds for s in block.sides])
            assert not any(any(s.disturbed) for s in block.sides), block.sides
    found = {
        "bytes": 8 * bench.bound.symbols["n"],
        "calls": CALLS[name],
        "start_to_first_check_s": first_s,
        "check_of_two_seeds_s": median(checks),
        "first_block_s": blocks[0],
        "block_s": median(blocks[1:]),
        "samples_a_block": 2 * ROUNDS,
        "microseconds": median(times) / 1e3,
        "spread_of_times": stdev(times) / mean(times),
        "same_against_itself": {
            "median": math.exp(median(ratios)) - 1,
            "standard_deviation": stdev(ratios),
            "largest": max(map(abs, ratios)),
        },
        "sm_mhz": sorted(clocks),
    }
    print(name, found)
    return found


def _sessions(bench: DeviceBench) -> list[float]:
    """The median of some blocks of a kernel against itself, each time newly loaded."""
    medians, calls = list[float](), {"a": CALLS["small"], "b": CALLS["small"]}
    for _ in range(SESSIONS):
        bench.load("a", RIGHT)
        bench.load("b", RIGHT)
        ratios = list[float]()
        for number in range(SESSION_BLOCKS):
            orders = [["a", "b"], ["b", "a"]] * (ROUNDS // 2)
            block, _ = bench.block(orders if number % 2 else orders[::-1], calls)
            a, b = (median(side.nanoseconds) for side in block.sides)
            ratios.append(math.log(a / b))
        medians.append(median(ratios))
    print("sessions", medians)
    return medians


def _kept_lines(device: Any, folder: Path) -> dict[str, float]:
    """Microseconds of a kernel that reads 16 MiB, with and without asking L2 to keep them."""
    n = 1 << 22
    bench = DeviceBench.of(device, folder, symbols={"n": n}, slots=4)
    steps = [launch("twice", n // THREADS, pointer("x"), pointer("y"), integer("n", n))]
    bench.load("keeps", KEEPING, steps=steps)
    bench.load("reads", READING, steps=steps)
    found: dict[str, list[float]] = {"keeps": [], "reads": []}
    for number in range(20):
        order = ["keeps", "reads"] if number % 2 else ["reads", "keeps"]
        block, _ = bench.block([order, order])
        for side in block.sides:
            assert not side.fault, side.fault
            found[side.variant] += [ns / 1e3 for ns in side.nanoseconds]
    bench.runner.close()
    print(found)
    return {name: median(times) for name, times in found.items()}


if __name__ == "__main__":
    main()
