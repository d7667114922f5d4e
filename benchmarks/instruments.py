"""Whether the tools that look at code and counters agree on a GPU: profiles of known kernels.

    python benchmarks/instruments.py REPORTS [RESULT.json]

Asks `ncu_summary`, `region_dag` and `ptx_for_source_span` as a client does, of Triton and CUDA
kernels with atomics, barriers and tensor cores, and compares what they say with each other and with
the report. REPORTS keeps for each kernel the report, the source, the PTX and the machine code, and
what was found (written at once: a later kernel that fails loses nothing). At last a search with
`--ncu-every 5`. Takes under 3 minutes; the result goes to benchmarks/results/instruments.json.
Needs a GPU, ncu and leave to read counters.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from environment import ROOT, write
from instruments_asked import regions_told, spans_told, summary_told
from instruments_kept import compared, keep, keep_reports

from kernelwright.runners.profiling import readers
from kernelwright.runners.watched.running import tool_version
from kernelwright.search.session.optimize import Confirming, Failed, last_search, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import StepReport
from kernelwright.tools.compile_variant import CompileVariantArguments, compile_variant
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.propose_moves import ProposeMovesArguments, propose_moves

SUBJECTS_S = 100.0
"""after so long no further kernel is begun: the whole may take 3 minutes, a kernel up to 30 s"""
BUILDS, EVERY, SEARCH_S = 12, 5, 40.0
SEARCHED = ROOT / "examples/cuda_sgemm/spec.json"
MOST_READY = 50


@dataclass(frozen=True)
class Subject:
    """A kernel to look at: the baseline of a spec, or the likeliest candidate of a method."""

    name: str
    spec: Path
    method: str = ""


GEMM = ROOT / "benchmarks/kernels/gemm/cuda_fp16.json"
SUBJECTS = (
    Subject("triton_matmul", ROOT / "examples/triton_matmul/spec.json"),
    Subject("cuda_histogram", ROOT / "examples/cuda_histogram/spec.json"),
    Subject("hgemm_wgmma", GEMM, "switch_to_mma_or_wgmma"),
    Subject("triton_softmax", ROOT / "examples/triton_softmax/spec.json"),
    Subject("cuda_sgemm", ROOT / "examples/cuda_sgemm/spec.json"),
    Subject("gemm_cuda_fp16", GEMM),
)
"""what is known least of comes first"""


def main() -> None:
    """Look at every kernel, search one, print a table and write the result."""
    words = [Path(word) for word in sys.argv[1:]]
    if not words:
        sys.exit(__doc__)
    reports, began = words[0], time.monotonic()
    reports.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder, Workbench(Path(folder), [ROOT]) as bench:
        rows = [looked_at(bench, each, reports, began) for each in SUBJECTS]
        found = searched(bench, SEARCHED, reports)
    print(table(rows))
    print(told(found))
    tool = readers.program()
    result = {
        "ncu": "" if tool is None else tool_version(tool),
        "seconds": round(time.monotonic() - began, 1),
        "kernels": rows,
        "search": found,
    }
    print(write("instruments", result, words[1] if len(words) > 1 else None))
    sys.exit(bool(errors([*rows, found])))


def looked_at(bench: Workbench, subject: Subject, reports: Path, began: float) -> dict[str, Any]:
    """All that is found of one kernel; what goes wrong is an `error` in its place."""
    row: dict[str, Any] = {"kernel": subject.name}
    if time.monotonic() - began > SUBJECTS_S:
        return {**row, "error": f"not begun: {SUBJECTS_S:g} s had passed"}
    print(f"{subject.name} ...", flush=True)
    started = time.monotonic()
    opened = tried(lambda: {"variant_id": variant_of(bench, subject)})
    row |= opened
    if "error" not in opened:
        row["opened_s"] = round(time.monotonic() - started, 2)
        variant_id = str(opened["variant_id"])
        row["summary"] = tried(lambda: summary_told(bench, variant_id, reports, subject.name))
        row["kept"] = tried(lambda: keep(bench, variant_id, reports, subject.name))
        row["regions"] = tried(lambda: regions_told(bench, variant_id))
        row["spans"] = tried(lambda: spans_told(bench, variant_id))
        row["compared"] = tried(lambda: compared(bench, variant_id))
    row["seconds"] = round(time.monotonic() - started, 2)
    text = json.dumps(row, indent=1) + "\n"
    (reports / f"{subject.name}.found.json").write_text(text, encoding="utf-8")
    return row


def variant_of(bench: Workbench, subject: Subject) -> str:
    """The variant that a subject names, built; the kernel is opened if it is not yet."""
    opened = open_kernel(bench, OpenKernelArguments(spec_path=str(subject.spec)))
    if not subject.method:
        return opened.baseline
    asked = ProposeMovesArguments(
        kernel_id=opened.kernel_id, variant_id=opened.baseline, limit=MOST_READY
    )
    moves = propose_moves(bench, asked).moves
    likeliest = next(m.candidates[0] for m in moves if m.method == subject.method)
    built = compile_variant(
        bench,
        CompileVariantArguments(
            kernel_id=opened.kernel_id, base=opened.baseline, ready=likeliest.ready
        ),
    )
    if not built.ok:
        raise RuntimeError(built.diagnostics)
    return built.variant_id


def tried(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What it gives, or how it failed: nothing that fails may cost what comes after it."""
    try:
        return work()
    except Exception as error:
        print(f"  {type(error).__name__}: {error}", flush=True)
        return {"error": f"{type(error).__name__}: {error}"}


def searched(bench: Workbench, spec: Path, reports: Path) -> dict[str, Any]:
    """A search that profiles its incumbents, and what it found of them. Its winner is not put to
    the gates, which have nothing to do with profiles."""
    settings = Settings(budget_builds=BUILDS, ncu_every=EVERY, budget_seconds=SEARCH_S)
    return tried(lambda: _searched(bench, spec, settings, reports))


def _searched(bench: Workbench, spec: Path, settings: Settings, reports: Path) -> dict[str, Any]:
    print("search ...", flush=True)
    started, steps, at = time.monotonic(), list[dict[str, Any]](), time.monotonic()
    events = optimize(bench, [spec], settings)
    for event in events:
        if isinstance(event, Failed):
            raise event.error
        if isinstance(event, StepReport):
            now = time.monotonic()
            row = {"changed": event.changed, "ending": event.ending.value, "builds": event.builds}
            profiled = event.profile is not None
            steps.append({**row, "profiled": profiled, "seconds": round(now - at, 2)})
            at = now
        if isinstance(event, Confirming):
            break
    kernel_id = open_kernel(bench, OpenKernelArguments(spec_path=str(spec))).kernel_id
    record = last_search(bench, kernel_id)
    events.close()
    profiles = () if record is None else record.profiles
    if not profiles:
        raise RuntimeError(f"no incumbent was profiled in {len(steps)} steps")
    return {
        "kernel": spec.parent.name,
        "steps": steps,
        "profiles": [each.model_dump(mode="json") for each in profiles],
        "reports": [
            name
            for each in profiles
            for name in keep_reports(bench, each.variant_id, reports, f"search.{each.step}")
        ],
        "stopped": None if record is None else record.stopped_text,
        "seconds": round(time.monotonic() - started, 2),
    }


HEADINGS = (
    "kernel", "s", "ncu s", "tokens", "first finding", "lines", "regions", "same line", "classes",
)  # fmt: skip


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A line for each kernel, in columns; what failed below."""
    lines = [HEADINGS, *(_cells(row) for row in rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(HEADINGS))]
    text = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([*text, *errors(rows)])


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    summary: dict[str, Any] = row.get("summary", {})
    samples: dict[str, Any] = row.get("compared", {}).get("samples", {})
    classes: dict[str, Any] = row.get("compared", {}).get("opcodes", {}).get("classes", {})
    findings: list[str] = summary.get("skills") or ["-"]
    shares = ("on_lines_of_the_source", "in_regions", "same_innermost_line")
    verdicts = ", ".join(f"{name} {each['verdict']}" for name, each in classes.items())
    return (
        row["kernel"],
        f"{row.get('seconds', 0):.0f}",
        str(summary.get("profile_s", "-")),
        str(summary.get("tokens", "-")),
        findings[0],
        *(_percent(samples.get(name)) for name in shares),
        verdicts or "-",
    )


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{100 * share:.0f} %"


def told(found: dict[str, Any]) -> str:
    """What the search's profiles say, a line for each."""
    if "error" in found:
        return f"search failed: {found['error']}"
    lines = [
        f"step {p['step']}: {p['variant_id']} {p['failed'] or p['bottleneck']}"
        for p in found["profiles"]
    ]
    return "\n".join([f"search of {found['kernel']}: {len(found['steps'])} steps", *lines])


def errors(rows: Sequence[dict[str, Any]]) -> list[str]:
    """`cuda_sgemm, regions: why`, of everything that failed, and profiles of the search."""
    parts = ("summary", "kept", "regions", "spans", "compared")
    found = [f"{row.get('kernel', 'search')}: {row['error']}" for row in rows if "error" in row]
    found += [
        f"search: no profile at step {each['step']}: {each['failed']}"
        for row in rows
        for each in row.get("profiles", ())
        if each["failed"]
    ]
    return found + [
        f"{row['kernel']}, {part}: {row[part]['error']}"
        for row in rows
        for part in parts
        if "error" in row.get(part, {})
    ]


if __name__ == "__main__":
    main()
