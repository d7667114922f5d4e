"""Winners of a newcomer's kernels under a stopwatch of their own: does the told interval hold?

Usage: python benchmarks/first_hour.py [KERNEL...] [--output FILE]

Twelve kernels that the product has not seen (`first_hour_kernels/`): `spec --infer` writes each
spec, what it leaves open is filled in from KERNELS, `optimize` searches, and a C++ program
(`stopwatch.hpp`: vectors, plain calls, std::chrono) times baseline and winner, each built by its
pasted `build.sh`, in processes that take turns. Plain calls and calls after other data took the
caches are held against the interval that is told, and plain calls against that of warm caches, too.

A kernel takes about a minute. The result is written after each: kernels that are named are measured
anew and the others kept, so a run that was cut goes on with those that it lacks. One that fails is
told with its reason, counts as not covered, and ends nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from environment import RESULTS, ROOT, write

SOURCES = ROOT / "benchmarks" / "first_hour_kernels"
PRODUCT = Path(sys.executable).parent / "kernelwright"
SEARCH_S, BUILDS = 25, 12
PROCESSES, CALLS_S = 7, 0.15
"""of each side; seconds of calls in each"""
C_TYPES = {"float32": "float", "float64": "double", "int32": "int"}
COUNTED = {
    "plain calls, by the interval that is told": "covered_told",
    "plain calls, by that of warm caches": "covered",
    "cold caches, by the interval that is told": "covered_cold",
}
"""what is counted, and where a row says it"""
SAME = 1e-3
"""how far, relative, the sums of what both sides wrote may lie apart"""


@dataclass(frozen=True)
class Kernel:
    """What a user fills in: sizes, shapes, roles and values that cannot be inferred."""

    sizes: dict[str, int]
    arguments: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])


def shape(text: str, **more: Any) -> dict[str, Any]:
    """The shape of an argument, and what else is to be said of it."""
    return {"shape": [text], **more}


MATRIX, VECTOR = shape("m * n"), {"m": 700, "n": 900}
KERNELS = {
    "atax": Kernel(VECTOR, {"A": MATRIX}),
    "bicg": Kernel(VECTOR, {"A": MATRIX}),
    "gesummv": Kernel(
        {"n": 800},
        {"A": shape("n * n"), "B": shape("n * n"), "alpha": {"value": 1.5}, "beta": {"value": 1.2}},
    ),
    "doitgen": Kernel(
        {"nr": 24, "nq": 20, "np": 96},
        {"A": shape("nr * nq * np"), "C": shape("np * np"), "out": shape("nr * nq * np")},
    ),
    "hydro": Kernel(
        {"n": 2_000_000},
        {"z": shape("n + 11"), "q": {"value": 0.5}, "r": {"value": 0.3}, "t": {"value": 0.2}},
    ),
    "tridiag": Kernel(
        {"m": 512, "n": 1024},
        {
            "z": shape("m * n", init={"kind": "uniform", "low": -0.5, "high": 0.5}),
            "y": MATRIX,
            "x": shape("m * n", role="output"),
        },
    ),
    "nbody": Kernel({"n": 1500}, {"eps": {"value": 0.01}}),
    "blur": Kernel({"h": 600, "w": 900}, {"in": shape("(h + 2) * (w + 2)"), "out": shape("h * w")}),
    "dot": Kernel({"n": 1_000_000}, {"out": shape("1", tolerance={"floor": 1e-3})}),
    "rmsnorm": Kernel(
        {"rows": 1024, "cols": 768},
        {"x": shape("rows * cols"), "y": shape("rows * cols"), "eps": {"value": 1e-5}},
    ),
    "histogram": Kernel(
        {"n": 1_000_000},
        {
            "values": {"init": {"kind": "randint", "low": 0, "high": 256}},
            "counts": {"role": "output", "shape": ["256"]},
        },
    ),
    "prefix_sum": Kernel(
        {"rows": 512, "cols": 2048},
        {"x": shape("rows * cols"), "y": shape("rows * cols", tolerance={"floor": 1e-4})},
    ),
}


def main() -> None:
    """Time the kernels named, or all, keeping what the result file has of others; a table last."""
    asked = _arguments()
    if unknown := set(asked.kernels) - KERNELS.keys():
        raise SystemExit(f"no kernel {', '.join(unknown)}; there are {', '.join(KERNELS)}")
    known = _known(asked.output) if asked.kernels else {}
    rows = list(known.values())
    for name in asked.kernels or KERNELS:
        known[name] = _row_or_failure(name)
        print(_line(known[name]), flush=True)
        rows = [known[each] for each in KERNELS if each in known]
        result = {"budget_s": SEARCH_S, "budget_builds": BUILDS, **covered(rows), "kernels": rows}
        write("first_hour", result, asked.output)
    print(f"\n{'kernel':11} {'told, the stopwatch: cold':40} warm")
    print("\n".join(map(_line, rows)))
    for calls, count in covered(rows)["covered"].items():
        held, of = count["held"], count["of"]
        print(f"{calls}: the interval holds the stopwatch's ratio in {held} of {of}")
    if left := KERNELS.keys() - known.keys():
        print(f"not measured yet: {' '.join(name for name in KERNELS if name in left)}")


def covered(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """In how many rows the interval told holds the stopwatch's ratio. A kernel of which nothing was
    claimed is no part of it; one that failed is."""
    claimed = [row for row in rows if row["told"] or row.get("failed")]
    counts = {
        calls: {"held": sum(bool(row.get(key)) for row in claimed), "of": len(claimed)}
        for calls, key in COUNTED.items()
    }
    return {"covered": counts}


def spec_of(inferred: dict[str, Any], kernel: Kernel) -> dict[str, Any]:
    """An inferred spec with a user's answers in it. Raises ValueError where a `?` is left."""
    arguments = [{**a, **kernel.arguments.get(a["name"], {})} for a in inferred["io"]["arguments"]]
    workloads = [{"name": "usual", "symbols": kernel.sizes}]
    symbols = {
        name: {**domain, "max": max(domain["max"], kernel.sizes[name])}
        for name, domain in inferred["symbols"].items()
    }
    io = {**inferred["io"], "arguments": arguments}
    made = {**inferred, "io": io, "symbols": symbols, "workloads": workloads}
    if "?" in json.dumps(made):
        raise ValueError(f"`{inferred['name']}`: a `?` is left in {json.dumps(made['io'])}")
    return made


def program(spec: dict[str, Any]) -> str:
    """A C++ program that calls the kernel of a spec on vectors of its own."""
    arguments, symbols = spec["io"]["arguments"], spec["workloads"][0]["symbols"]
    declared, made, passed, sums = list[str](), list[str](), list[str](), list[str]()
    for number, each in enumerate(arguments):
        of, name = C_TYPES[each["dtype"]], f"{each['name']}_"
        if each["role"] == "scalar":
            declared.append(of)
            made.append(f"const {of} {name} = static_cast<{of}>({each['value']});")
            passed.append(name)
            continue
        count, below = " * ".join(f"({s})" for s in each["shape"]), each.get("init", {})
        if each["role"] in ("output", "inout"):
            made.append(f"std::vector<{of}> {name}({count});")
            sums.append(f"sum_of({name})")
        else:
            made.append(f"auto {name} = filled<{of}>({count}, {number}, {below.get('high', 10)});")
            if below.get("kind") == "uniform":
                made.append(f"for ({of}& v : {name}) v = v > 0 ? {of}(0.3) : {of}(-0.3);")
        declared.append(f"{'const ' if each['role'] == 'input' else ''}{of}*")
        passed.append(f"{name}.data()")
    sizes = "".join(f"  const long {name} = {value};\n" for name, value in symbols.items())
    entry = spec["kernel"]["metadata"]["kernel_name"]
    return (
        f'#include "stopwatch.hpp"\nvoid {entry}({", ".join(declared)});\n'
        f"int main() {{\n{sizes}  {f'{chr(10)}  '.join(made)}\n"
        f"  return timed({CALLS_S}, [&] {{ {entry}({', '.join(passed)}); }},\n"
        f"               [&] {{ return {' + '.join(sums)}; }});\n}}\n"
    )


def compare(runs: dict[str, list[dict[str, float]]], key: str) -> dict[str, float]:
    """How many times as fast the winner is: of the medians, and the least and greatest pair of
    processes that ran one after the other."""
    pairs = [b[key] / w[key] for b, w in zip(runs["baseline"], runs["winner"], strict=True)]
    middle = median(b[key] for b in runs["baseline"]) / median(w[key] for w in runs["winner"])
    return {"ratio": middle, "least": min(pairs), "most": max(pairs)}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("kernels", nargs="*", help=f"default: all of {', '.join(KERNELS)}")
    parser.add_argument("--output", type=Path, help="a file in place of the one in results/")
    return parser.parse_args()


def _known(output: Path | None) -> dict[str, dict[str, Any]]:
    """Rows of a result by kernel; none where there is no result yet."""
    path = output or RESULTS / "first_hour.json"
    if not path.exists():
        return {}
    return {row["kernel"]: row for row in json.loads(path.read_text(encoding="utf-8"))["kernels"]}


def _row_or_failure(name: str) -> dict[str, Any]:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            return _row(name, Path(folder))
        except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
            seconds = round(time.monotonic() - started, 1)
            return {"kernel": name, "told": None, "failed": str(error), "seconds": seconds}


def _row(name: str, folder: Path) -> dict[str, Any]:
    started, spec = time.monotonic(), _written(name, folder)
    _run(
        *(PRODUCT, "optimize", "--input", folder / "spec.json", "--outdir", folder / "out"),
        *("--budget-builds", BUILDS, "--budget-seconds", SEARCH_S),
        ends=(0, 2),
    )
    files = folder / "out" / "kernels" / name
    summary = json.loads((files / "best_summary.json").read_text(encoding="utf-8"))
    row = {"kernel": name, "told": None, "seconds": round(time.monotonic() - started, 1)}
    if not summary["confirmed"]:
        return row
    runs = stopwatch(files, spec, folder)
    warm, cold = compare(runs, "ms"), compare(runs, "cold_ms")
    low, high = summary["interval"]
    hot = _hot(files / "best" / "result.json") or [summary["speedup"], low, high]
    return {
        **row,
        "told": summary["speedup"],
        "low": low,
        "high": high,
        "told_warm": hot,
        "warm": warm,
        "cold": cold,
        "covered_told": low <= warm["ratio"] <= high,
        "covered": hot[1] <= warm["ratio"] <= hot[2],
        "covered_cold": low <= cold["ratio"] <= high,
        "ms": {side: median(run["ms"] for run in runs[side]) for side in runs},
        "cold_ms": {side: median(run["cold_ms"] for run in runs[side]) for side in runs},
        "first_ms": {side: median(run["first_ms"] for run in runs[side]) for side in runs},
        "build": _last_line(files / "best" / "build.sh"),
        "confirmation": summary["confirmation"]["message"],
        "seconds": round(time.monotonic() - started, 1),
    }


def stopwatch(files: Path, spec: dict[str, Any], folder: Path) -> dict[str, list[dict[str, float]]]:
    """What the program says of baseline and winner, a process after the other, which takes turns.

    Raises RuntimeError where both did not write about the same.
    """
    programs = {
        "baseline": _built(files / "baseline", spec, folder / "baseline"),
        "winner": _built(files / "best", spec, folder / "winner"),
    }
    runs: dict[str, list[dict[str, float]]] = {side: [] for side in programs}
    for number in range(PROCESSES):
        for side in sorted(programs, reverse=bool(number % 2)):
            runs[side].append(json.loads(_run(programs[side])))
    sums = [runs[side][0]["sum"] for side in programs]
    if not math.isclose(*sums, rel_tol=SAME, abs_tol=1.0):
        raise RuntimeError(f"`{files.name}`: baseline and winner wrote other values: {sums}")
    return runs


def _written(name: str, folder: Path) -> dict[str, Any]:
    """The spec of a kernel, beside a copy of its source."""
    source = folder / f"{name}.cpp"
    source.write_bytes((SOURCES / source.name).read_bytes())
    spec = spec_of(json.loads(_run(PRODUCT, "spec", "--infer", source)), KERNELS[name])
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    return spec


def _built(variant: Path, spec: dict[str, Any], folder: Path) -> Path:
    """The stopwatch with a variant in it, built and linked as its `build.sh` says."""
    folder.mkdir()
    _run("sh", variant / "build.sh")
    link = _said(variant, "link your program with:")
    main = folder / "main.cpp"
    main.write_text(program(spec), encoding="utf-8")
    made = folder / "timed"
    command = f"cd {variant.resolve()} && g++ -O2 -std=c++17 -I{SOURCES} {main} {link} -o {made}"
    _run("sh", "-c", command)
    return made


def _hot(result: Path) -> list[float] | None:
    """Speedup and interval that a confirmation told for warm caches; None: it told none."""
    told = json.loads(result.read_text(encoding="utf-8"))["confirmation"]["visible"]["hot"]
    return [told[0][key] for key in ("speedup", "low", "high")] if told else None


def _last_line(file: Path) -> str:
    return file.read_text(encoding="utf-8").strip().splitlines()[-1]


def _said(variant: Path, words: str) -> str:
    lines = (variant / "build.sh").read_text(encoding="utf-8").splitlines()
    return next(line.partition(words)[2].strip() for line in lines if words in line)


def _run(*command: object, ends: tuple[int, ...] = (0,)) -> str:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=600)
    if done.returncode not in ends:
        raise RuntimeError(f"{command} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    return done.stdout


def _line(row: dict[str, Any]) -> str:
    if row.get("failed"):
        return (
            f"{row['kernel']:11} FAILED: {row['failed'].splitlines()[0]} ({row['seconds']:.0f} s)"
        )
    if not row["told"]:
        return f"{row['kernel']:11} nothing confirmed ({row['seconds']:.0f} s)"
    told, told_warm = (
        f"{ratio:.3g}x ({low:.3g} to {high:.3g})"
        for ratio, low, high in ((row["told"], row["low"], row["high"]), row["told_warm"])
    )
    said = {True: "held", False: "MISSED"}
    return (
        f"{row['kernel']:11} {told:24} {row['cold']['ratio']:5.3g}x {said[row['covered_cold']]:8} "
        f"{told_warm:24} {row['warm']['ratio']:5.3g}x {said[row['covered']]:8} "
        f"({row['seconds']:.0f} s)"
    )


if __name__ == "__main__":
    main()
