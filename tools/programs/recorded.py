"""Recording a program and looking at it: what the command line and the tools share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...analysis.programs.gains import representative, shares
from ...analysis.programs.groups import Group, grouped
from ...analysis.programs.report import ProgramReport, program_report, report_text
from ...runners.errors import HandleUnknown
from ...runners.recording.fronts import Asked, Front, Request
from ...runners.recording.names import readable_names
from ...runners.recording.recorded import Recording
from ...runners.recording.recording import (
    COUNT,
    KEPT,
    Program,
    Recorded,
    busiest,
    keep_launches,
    record_program,
    recorded_program,
)
from ...runners.recording.replaying.kept import KeptLaunch, kept_launches
from ...runners.recording.replaying.replaying import Replayed, replay_launches
from ...runners.recording.sources import triton_sources
from ...runners.whole_files import write_whole

REPORT_JSON, REPORT_TEXT = "report.json", "report.txt"


@dataclass(frozen=True, slots=True)
class KeptOutcome:
    """Which launches were kept, and why others were not, by label."""

    kept: tuple[KeptLaunch, ...]
    refused: dict[str, str]


def recorded_report(
    program: Program, outdir: Path, asked: Asked, front: Front | None = None
) -> tuple[ProgramReport, Recorded]:
    """Run and count; the report lies in the folder as JSON and text. Raises KernelwrightError."""
    found = record_program(program, outdir, asked, front)
    report = _report(found.recording, program.command, found.others)
    write_whole(outdir / REPORT_JSON, report.model_dump_json(indent=2) + "\n")
    write_whole(outdir / REPORT_TEXT, report_text(report) + "\n")
    return report, found


def report_of(outdir: Path) -> ProgramReport:
    """The report of a recording that was made earlier. Raises AccessError."""
    command = tuple(map(str, recorded_program(outdir)["command"]))
    return _report(busiest(outdir / COUNT), command, 0)


def keep_representative(
    program: Program, outdir: Path, asked: Asked, only: Collection[str] = ()
) -> KeptOutcome:
    """Run the program once more, and keep a launch of each kind that together make 90 %; `only`:
    these labels instead. Raises KernelwrightError."""
    wanted = chosen(busiest(outdir / COUNT), only)
    front = recorded_program(outdir)["front"]
    requests = [request_for(group) for group in wanted]
    found = keep_launches(program, outdir, requests, asked, front)
    return outcome_of(outdir, found.recording, wanted)


def chosen(recording: Recording, only: Collection[str] = ()) -> tuple[Group, ...]:
    """The groups to keep a launch of. Raises HandleUnknown for a label that is none."""
    told = shares(grouped(recording))
    if not only:
        return tuple(s.group for s in representative(told) if s.group.ordinal)
    by_label = {s.group.label: s.group for s in told}
    if unknown := sorted(set(only) - set(by_label)):
        raise HandleUnknown(
            f"no kernel of this recording is called {', '.join(unknown)}",
            valid=", ".join(list(by_label)[:12]),
            next_step="labels are in the report",
        )
    return tuple(by_label[label] for label in only)


def request_for(group: Group) -> Request:
    """What asks for a launch of a group. In another run the order of launches may be another: the
    next launch of the same geometry will do."""
    c = group.configuration
    scalars = "-" if c.merged else c.scalars
    return Request(
        group.label, max(1, group.ordinal), c.grid, c.block, c.shared, scalars, c.function.name
    )


def outcome_of(outdir: Path, recording: Recording, wanted: Sequence[Group]) -> KeptOutcome:
    """What came of the requests."""
    found = kept_of(outdir)
    have = {each.label for each in found}
    refused = {
        str(note["label"]): str(note["refused"]) for note in recording.notes if "refused" in note
    }
    for group in wanted:
        if group.label not in have:
            refused.setdefault(
                group.label,
                "it did not come again outside a graph: the program's launches differ between runs",
            )
    return KeptOutcome(found, refused)


def kept_of(outdir: Path) -> tuple[KeptLaunch, ...]:
    """The kept launches of a recording, in the order of the report. Raises AccessError."""
    process = busiest(outdir / KEPT).folder
    order = {s.group.label: i for i, s in enumerate(shares(grouped(busiest(outdir / COUNT))))}
    found = kept_launches(process)
    return tuple(sorted(found, key=lambda each: order.get(each.label, len(order))))


def replayed(outdir: Path, *, roles: bool = False, runs: int = 0) -> tuple[Replayed, ...]:
    """Every kept launch run outside the program. Raises KernelwrightError."""
    found = kept_of(outdir)
    return replay_launches(found, outdir / "replay", roles=roles, runs=runs)


def replay_text(found: Sequence[Replayed]) -> str:
    """A line for each launch, and how many are equal."""
    names = readable_names([each.kept.name for each in found])
    lines = list[str]()
    for each in found:
        times = f", {each.cold_us:.2f} us cold" if each.cold_us is not None else ""
        moved = f", {each.moved} buffers at other addresses" if each.moved else ""
        name = names.get(each.kept.name, each.kept.name)[:80]
        lines.append(f"{each.kept.label:12} {each.verdict}{moved}{times}  {name}")
        lines += [f"{'':13}buffer {i}: {r.role} {r.why}".rstrip() for i, r in enumerate(each.roles)]
    equal = sum(each.equal for each in found)
    kernels = {each.kept.name for each in found}
    good = {each.kept.name for each in found if each.equal}
    lines.append(
        f"{equal} of {len(found)} launches equal bit for bit; {len(good)} of {len(kernels)} kernels"
    )
    return "\n".join(lines)


def _report(recording: Recording, command: Sequence[str], others: int) -> ProgramReport:
    names = [f.name for f in recording.functions] + [e.name for e in recording.elsewhere]
    sources = {
        image: f"{source.file}:{source.line}" for image, source in triton_sources(recording).items()
    }
    return program_report(recording, command, readable_names(names), others, sources)
