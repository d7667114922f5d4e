"""How long each operator takes: by the clock on a CPU, by the profiler's trace on a GPU."""

from __future__ import annotations

import bisect
import itertools
import json
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from ...errors import ProfileFailed
from ..common.torch_library import load, torch
from ..forms.subjects import Loaded
from .operators import Seen, dispatching

REPEATS = 3
ON_DEVICE = ("kernel", "gpu_memset", "gpu_memcpy")
CALLS = ("cuda_runtime", "cuda_driver")


def time_operators(loaded: Loaded, seen: list[Seen], scratch: Path) -> float:
    """Fill in `us` and `kernels` of every operator of a call; the device time of nobody's kernels.

    A call whose operators are not those of `seen` (a module that draws lots, or counts) is left
    out. Raises ProfileFailed where no call was like it, or where the profiler saw no kernel.
    """
    if loaded.device == "cpu":
        return _by_clock(loaded, seen)
    return _by_profiler(loaded, seen, scratch)


def _by_clock(loaded: Loaded, seen: list[Seen]) -> float:
    for _ in range(REPEATS):
        taken = list[tuple[str, float]]()

        def timed(func: Any, args: Any, kwargs: dict[str, Any], taken: list[Any] = taken) -> Any:
            start = time.perf_counter()
            out = func(*args, **kwargs)
            taken.append((str(func.overloadpacket), (time.perf_counter() - start) * 1e6))
            return out

        with dispatching(timed):
            loaded.call()
        if [name for name, _ in taken] == [each.op for each in seen]:
            for each, (_, us) in zip(seen, taken, strict=True):
                each.us.append(us)
    _require_times(seen)
    return 0.0


def _by_profiler(loaded: Loaded, seen: list[Seen], scratch: Path) -> float:
    profiler = load("torch.profiler")
    numbers = itertools.count()

    def named(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
        with profiler.record_function(f"kw::{next(numbers)}"):
            return func(*args, **kwargs)

    kinds = [profiler.ProfilerActivity.CPU, profiler.ProfilerActivity.CUDA]
    loaded.call()
    torch().cuda.synchronize()
    with profiler.profile(activities=kinds) as profiled:
        for _ in range(REPEATS):
            with dispatching(named):
                loaded.call()
            torch().cuda.synchronize()
    if next(numbers) != REPEATS * len(seen):
        raise ProfileFailed(
            "the module does not call the same operators each time it is called",
            next_step="make what it does hang on its inputs alone (fix its seeds and counters)",
        )
    file = scratch / "trace.json"
    profiled.export_chrome_trace(str(file))
    events = json.loads(file.read_text(encoding="utf-8"))["traceEvents"]
    file.unlink()
    return _attribute(events, seen)


def _attribute(events: list[dict[str, Any]], seen: list[Seen]) -> float:
    """Kernel -> the call that launched it -> the operator whose annotation encloses that call."""
    spans, launches = _spans(events), _launches(events)
    sums: list[defaultdict[int, float]] = [defaultdict(float) for _ in range(REPEATS)]
    kernels, nobodys, any_kernel = defaultdict[int, list[str]](list), 0.0, False
    for event in events:
        if event.get("cat") not in ON_DEVICE:
            continue
        any_kernel = True
        launch = launches.get(event["args"].get("correlation"))
        number = None if launch is None else _enclosing(spans.get(launch["tid"], []), launch["ts"])
        if number is None:
            nobodys += float(event["dur"]) / REPEATS
            continue
        repeat, n = divmod(number, len(seen))
        sums[repeat][n] += float(event["dur"])
        if repeat == 0:
            kernels[n].append(str(event["name"]))
    if not any_kernel:
        raise ProfileFailed(
            "torch's profiler saw no kernel: another profiler is attached to this process",
            next_step="end the other one (ncu, nsys, CUDA_INJECTION64_PATH) and try again",
        )
    for n, each in enumerate(seen):
        each.us = [one[n] for one in sums]
        each.kernels = tuple(kernels[n])
    return nobodys


def _spans(events: list[dict[str, Any]]) -> dict[Any, list[tuple[float, float, int]]]:
    spans = defaultdict[Any, list[tuple[float, float, int]]](list)
    for event in events:
        name = str(event.get("name", ""))
        if event.get("cat") == "user_annotation" and name.startswith("kw::"):
            span = (event["ts"], event["ts"] + event["dur"], int(name[4:]))
            spans[event["tid"]].append(span)
    for each in spans.values():
        each.sort()
    return spans


def _launches(events: list[dict[str, Any]]) -> dict[Any, dict[str, Any]]:
    calls = (e for e in events if e.get("cat") in CALLS and "correlation" in e.get("args", {}))
    return {event["args"]["correlation"]: event for event in calls}


def _enclosing(spans: list[tuple[float, float, int]], at: float) -> int | None:
    place = bisect.bisect_right(spans, (at, float("inf"), 0)) - 1
    if place < 0 or spans[place][1] < at:
        return None
    return spans[place][2]


def _require_times(seen: list[Seen]) -> None:
    if seen and not seen[0].us:
        raise ProfileFailed(
            "the module does not call the same operators each time it is called",
            next_step="make what it does hang on its inputs alone (fix its seeds and counters)",
        )


def typical(us: list[float]) -> float:
    """The median of some calls; 0 for none."""
    return median(us) if us else 0.0
