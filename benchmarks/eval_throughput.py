"""Evaluations per second: first-set gates and comparison, and where the time goes.

Usage: python benchmarks/eval_throughput.py [--count 100] [--kinds triton,cuda] [--today 3]
           [--gpus 0,1] [--host] [--builds-only] [--output FILE]

Each variant is other machine code, built, screened, checked and timed against the baseline by
`Evaluator.evaluate_all`; none may become the incumbent, so no gates of the incumbent are among it.
Beside it, on the same machine: a fresh process an evaluation with torch, allclose and do_bench, for
CUDA with `load_inline`; a few, extrapolated. `--host` does the same with host C++ and nothing
beside it, `--builds-only` needs no GPU. Writes benchmarks/results/eval_throughput*.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median
from typing import Any

import psutil
from environment import ROOT, write
from throughput_kernels import SPECS, Point, points

from kernelwright.evaluation.rig.open_kernel import open_state
from kernelwright.evaluation.scheduling.build_ahead import builders
from kernelwright.runners.building.builder import Builder
from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import Candidate, Evaluation
from kernelwright.runners.specs.devices import PROFILES
from kernelwright.runners.toolchains import BuildOutcome, BuildRequest
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.stored.variants import variant_from
from kernelwright.store.records import KernelRecord, VariantRecord
from kernelwright.store.store import Store, Writer

NEVER = 1e9
"""the gain that makes an incumbent"""
SIZES = {"triton": 2048, "cuda": 2048, "host": 256}
TODAY_S = 240.0
TABLES = {"stages", "build_stages", "cpu_s", "cpu_s_a_build", "today"}
STAGES = ("build", "wait", "check", "compare", "gpu")


def main() -> None:
    """Measure, print a table, and write the result."""
    wanted = _arguments()
    kinds = ["host"] if wanted.host else wanted.kinds.split(",")
    name = "eval_throughput" + "_host" * wanted.host + "_builds" * wanted.builds_only
    rows = list[dict[str, Any]]()
    for kind in kinds:
        if wanted.builds_only:
            row = _builds(kind, wanted.count)
        else:
            row = _evaluations(kind, wanted.count, wanted.gpus.split(",") if wanted.gpus else [])
            if not wanted.host and wanted.today:
                row["today"] = _today(kind, wanted.today if kind == "triton" else 1)
        rows.append(row)
        _print(row)
    out = os.environ.get("OUT")
    output = wanted.output or (Path(out) / f"{name}.json" if out else None)
    print(write(name, {"builders": builders(), "kinds": rows}, output))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--kinds", default="triton,cuda")
    parser.add_argument("--today", type=int, default=3)
    parser.add_argument("--gpus", default="")
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--builds-only", action="store_true")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def _evaluations(kind: str, count: int, gpus: Sequence[str]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        with Workbench(root / "out", [root], gpus) as bench, _stored() as store:
            started = time.monotonic()
            kernel = bench.evaluator.open(_loaded(kind, root))
            opened = time.monotonic() - started
            records = [_record(bench, kernel, point) for point in points(kind, count)]
            lanes = bench.evaluator.lanes(kernel.kernel_id)
            # the first evaluation of each lane starts what the others find running
            warm = [bench.evaluator.evaluate(records.pop(0), NEVER, lane) for lane in lanes]
            cpu, store.seconds, started = _cpu(), 0.0, time.monotonic()
            found = list(bench.evaluator.evaluate_all(records, NEVER))
            wall = time.monotonic() - started
            used = {name: round(s - cpu.get(name, 0.0), 2) for name, s in _cpu().items()}
            return {
                "kind": kind,
                "size": SIZES[kind],
                "gpus": len(lanes),
                "open_s": round(opened, 2),
                "first_s": warm[0].seconds,
                "evaluations": len(found),
                "wall_s": round(wall, 2),
                "per_second": round(len(found) / wall, 2),
                "endings": dict(Counter(e.ending.value for e in found)),
                "distinct_code": len({e.code_hash for e in found}),
                "shared": sum(e.same_code_as is not None for e in found),
                "stages": _stages(found, wall, store.seconds),
                "build_stages": _build_stages(
                    [e.build.stages for e in found if e.build is not None]
                ),
                "cpu_s": used,
                "gpu_busy": _busy(found, wall),
            }


def _loaded(kind: str, folder: Path) -> LoadedKernel:
    return load_data(SPECS[kind](SIZES[kind]), folder, Roots([folder]))


def _record(bench: Workbench, kernel: KernelRecord, point: Point) -> VariantRecord:
    base = bench.evaluator.variant(kernel.baseline).variant
    candidate = Candidate(method="tune_parameters", parameters=point)
    return VariantRecord(variant=variant_from(kernel, base, candidate))


def _stages(found: Sequence[Evaluation], wall: float, store_s: float) -> dict[str, Any]:
    """Seconds an evaluation by stage; `rest`: of the wall time of a device, what no stage has."""
    rows = {
        stage: [e.seconds[stage] for e in found if stage in e.seconds]
        for stage in (*STAGES, "promote")
    }
    told = {s: _summary(values) for s, values in rows.items() if values}
    devices = len({e.device for e in found if e.device}) or 1
    worked = sum(sum(rows[stage]) for stage in ("check", "compare", "promote"))
    told["store"] = {"mean": round(store_s / len(found), 4), "sum": round(store_s, 2)}
    told["rest"] = {"sum": round(devices * wall - worked, 2)}
    return told


def _build_stages(stages: Sequence[dict[str, float]]) -> dict[str, Any]:
    names = dict.fromkeys(name for each in stages for name in each)
    return {name: _summary([s[name] for s in stages if name in s]) for name in names}


def _busy(found: Sequence[Evaluation], wall: float) -> dict[str, float]:
    """By GPU: the share of the wall time in which it worked for checks and comparisons."""
    worked = Counter[str]()
    for each in found:
        if each.device is not None and each.same_code_as is None:
            worked[each.device] += each.seconds.get("gpu", 0.0)  # type: ignore[assignment]
    return {device: round(seconds / wall, 3) for device, seconds in worked.items()}


def _summary(values: Sequence[float]) -> dict[str, float]:
    return {
        "mean": round(mean(values), 4),
        "median": round(median(values), 4),
        "max": round(max(values), 4),
        "sum": round(sum(values), 2),
    }


class _StoreClock:
    """Seconds within transactions."""

    seconds = 0.0


@contextmanager
def _stored() -> Generator[_StoreClock]:
    """Measures every transaction of every store meanwhile."""
    clock, transaction = _StoreClock(), Store.transaction

    @contextmanager
    def timed(self: Store) -> Generator[Writer]:
        started = time.monotonic()
        with transaction(self) as writer:
            yield writer
        clock.seconds += time.monotonic() - started

    Store.transaction = timed
    try:
        yield clock
    finally:
        Store.transaction = transaction


def _cpu() -> dict[str, float]:
    """Processor seconds so far: of this process, and of each kind of child with all beneath it."""
    used = Counter[str]()
    own = psutil.Process()
    used["server"] = own.cpu_times().user + own.cpu_times().system  # type: ignore[assignment]
    for child in own.children(recursive=True):
        try:
            words, times = child.cmdline(), child.cpu_times()
        except psutil.Error:
            continue
        name = next((w.rpartition(".")[2] for w in words if w.startswith("kernelwright.")), "other")
        used[name] += sum(times[:4])  # type: ignore[assignment]
    return {name: float(seconds) for name, seconds in used.items()}


def _builds(kind: str, count: int) -> dict[str, Any]:
    """The build side alone: one after another, then on all cores."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        target = None if kind == "host" else PROFILES[0][0]
        kernel = open_state(_loaded(kind, root), None, target)
        base = kernel.loaded.baseline()

        def request(point: Point) -> BuildRequest:
            changed = base.model_copy(update={"parameters": {**base.parameters, **point}})
            return BuildRequest(
                kernel=kernel.loaded, variant=changed, shapes=kernel.shapes, device=target
            )

        builder = Builder(root / "modules", root / "scratch")
        wanted = [request(point) for point in points(kind, count)]
        try:
            return {"kind": kind, **_built(builder.build, wanted)}
        finally:
            builder.close()


def _built(
    build: Callable[[BuildRequest], BuildOutcome], wanted: list[BuildRequest]
) -> dict[str, Any]:
    started = time.monotonic()
    build(wanted.pop())
    first = time.monotonic() - started
    alone = list[float]()
    for request in [wanted.pop() for _ in range(min(5, len(wanted) // 2))]:
        started = time.monotonic()
        build(request)
        alone.append(time.monotonic() - started)
    threads, cpu, started = len(os.sched_getaffinity(0)), _cpu(), time.monotonic()
    with ThreadPoolExecutor(threads) as pool:
        outcomes = list(pool.map(build, wanted))
    wall, used = time.monotonic() - started, _cpu()
    good = [o for o in outcomes if o.artifact is not None and o.facts is not None]
    each = {name: round((used[name] - cpu.get(name, 0)) / len(outcomes), 4) for name in used}
    return {
        "builds": len(outcomes),
        "failed": Counter(o.message.splitlines()[0] for o in outcomes if o.artifact is None),
        "threads": threads,
        "first_s": round(first, 3),
        "alone_s": _summary(alone),
        "wall_s": round(wall, 2),
        "per_second": round(len(outcomes) / wall, 2),
        "cpu_s_a_build": each,
        "build_stages": _build_stages([o.facts.stages for o in good if o.facts is not None]),
        "distinct_code": len({o.artifact.code_hash for o in good if o.artifact is not None}),
    }


def _today(kind: str, count: int) -> dict[str, Any]:
    """Whole processes, each from its start to its end."""
    runs = list[dict[str, Any]]()
    with tempfile.TemporaryDirectory() as folder:
        spec = Path(folder) / "spec.json"
        spec.write_text(json.dumps(SPECS[kind](SIZES[kind])), encoding="utf-8")
        for number, point in enumerate(points(kind, count)):
            chosen = Path(folder) / f"{number}.json"
            chosen.write_text(json.dumps(point), encoding="utf-8")
            script = ROOT / "benchmarks" / "throughput_today.py"
            command = [sys.executable, str(script), kind, str(spec), str(chosen)]
            environment = os.environ | {"TRITON_CACHE_DIR": f"{folder}/cache-{number}"}
            started = time.monotonic()
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=TODAY_S
            )
            wall = round(time.monotonic() - started, 2)
            told: dict[str, Any] = (
                json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}
            )
            runs.append({"point": point, "wall_s": wall, **told, "error": done.stderr[-500:]})
            if told:
                runs[-1].pop("error")
    good = [run["wall_s"] for run in runs if "error" not in run]
    each = mean(good) if good else None
    return {
        "how": "load_inline" if kind == "cuda" else "a fresh process",
        "runs": runs,
        "seconds_an_evaluation": each,
        "per_second_extrapolated": None if each is None else round(1 / each, 4),
    }


def _print(row: dict[str, Any]) -> None:
    print(f"\n{row['kind']}: {row['per_second']} a second, {row['wall_s']} s in all")
    for name, told in row.items():
        if name in TABLES:
            print(f"  {name}", *(f"    {key}: {value}" for key, value in told.items()), sep="\n")
        else:
            print(f"  {name}: {told}")


if __name__ == "__main__":
    main()
