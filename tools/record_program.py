"""The verb `record_program`: which kernels a program's GPU time goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ..runners.model import Record
from .base import Tool, WorkArguments
from .parts.calls import again, call

if TYPE_CHECKING:
    from pathlib import Path

    from ..analysis.programs.report import ProgramReport
    from ..runners.recording.recording import Program
    from ..search.session.workbench import Workbench
    from .programs.recorded import KeptOutcome

RECORDING = "kernelwright-recording"
MOST_ROWS, MOST_LINES, NAME_CHARS = 12, 60, 120
KEEP_BYTES = 4 << 30
"""of operators' tensors, in all"""


class RecordProgramArguments(WorkArguments):
    """Which program, and how much of it is kept."""

    command: tuple[str, ...] = Field(min_length=1)
    recording: str = ""
    """its folder, replaced; default: kernelwright-recording"""
    keep: bool = False
    """run it again, keep launches for open_recorded"""
    timeout_s: float = Field(default=600, gt=0, le=86_400)
    front: Literal["", "torch"] = ""
    """torch: PyTorch's operators, with or without a GPU"""


class RecordedKernel(Record):
    """Launches of one kind."""

    label: str
    name: str
    share: float
    """of the GPU's time"""
    count: int
    typical_us: float
    gain_if_twice: float
    """of the whole, were it twice as fast"""
    source: str = ""
    """file and line, where they are known"""
    kept: bool = False


class ProgramRecording(Record):
    """What a program does on the GPU."""

    recording: str
    text: tuple[str, ...]
    """the report, for a reader"""
    kernels: tuple[RecordedKernel, ...]
    """those with most time first"""
    not_kept: dict[str, str]
    """reasons by label"""
    no_gain: dict[str, str] = Field(default_factory=dict)
    """operators whose calls cost more than any kernel can save, and why, by label"""
    ending: str
    """how the program ended"""
    report: str
    """a JSON file with all of it"""
    advice: str
    next: tuple[str, ...] = ()


def record_program(bench: Workbench, arguments: RecordProgramArguments) -> ProgramRecording:
    """Run any program of the user on the GPU; say which kernels take its time, what could be won.

    It runs as it is, with the user's rights, in the project's folder.
    Example: {"command": ["python", "train.py"]}
    """
    from ..analysis.programs.report import report_text
    from ..runners.progress import report as tell
    from ..runners.recording.fronts import Asked
    from ..runners.recording.recording import Program
    from .programs.recorded import REPORT_JSON, keep_representative, recorded_report

    folder = bench.roots.folders[0]
    outdir = bench.roots.resolve(arguments.recording or RECORDING, folder)
    program = Program(arguments.command, folder, timeout_s=arguments.timeout_s)
    tell("the program runs")
    if arguments.front == "torch":
        return _operators(arguments, program, outdir)
    report, found = recorded_report(program, outdir, Asked())
    kept = None
    if arguments.keep and not found.ran.failed:
        tell("the program runs again, launches are kept")
        kept = keep_representative(program, outdir, Asked())
    return ProgramRecording(
        recording=str(outdir),
        text=tuple(report_text(report).splitlines()[:MOST_LINES]),
        kernels=_kernels(report, kept),
        not_kept={} if kept is None else kept.refused,
        ending=found.ran.ending,
        report=str(outdir / REPORT_JSON),
        advice=report.advice,
        next=_next(arguments, kept),
    )


def _operators(
    arguments: RecordProgramArguments, program: Program, outdir: Path
) -> ProgramRecording:
    from ..analysis.programs.operators import may_gain, operators_text
    from .programs.operators.recording import operators_reported
    from .programs.recorded import REPORT_JSON

    report, ran = operators_reported(program, outdir, KEEP_BYTES if arguments.keep else 0)
    rows = report.rows[:MOST_ROWS]
    wanted = list(filter(may_gain, rows))[:3]
    opened = tuple(
        call("open_recorded", recording=arguments.recording or None, label=row.label, to=row.label)
        for row in wanted
    )
    return ProgramRecording(
        recording=str(outdir),
        text=tuple(operators_text(report).splitlines()[:MOST_LINES]),
        kernels=tuple(
            RecordedKernel(
                label=row.label,
                name=f"{row.operator} {row.shapes}"[:NAME_CHARS],
                share=row.share,
                count=row.count,
                typical_us=row.typical_us,
                gain_if_twice=row.gain_if_twice,
                kept=row.kept,
            )
            for row in rows
        ),
        not_kept={row.label: row.why_not for row in rows if row.why_not},
        no_gain={row.label: row.no_gain for row in rows if row.no_gain},
        ending=ran.ending,
        report=str(outdir / REPORT_JSON),
        advice=report.advice,
        next=opened if arguments.keep else (again("record_program", arguments, keep=True),),
    )


def _kernels(report: ProgramReport, kept: KeptOutcome | None) -> tuple[RecordedKernel, ...]:
    have = set[str]() if kept is None else {each.label for each in kept.kept}
    return tuple(
        RecordedKernel(
            label=row.label,
            name=row.name[:NAME_CHARS],
            share=row.share,
            count=row.count,
            typical_us=row.typical_us,
            gain_if_twice=row.gain_if_twice,
            source=row.source,
            kept=row.label in have,
        )
        for row in report.kernels[:MOST_ROWS]
    )


def _next(arguments: RecordProgramArguments, kept: KeptOutcome | None) -> tuple[str, ...]:
    if kept is None:
        return (again("record_program", arguments, keep=True),)
    return tuple(
        call(
            "open_recorded", recording=arguments.recording or None, label=each.label, to=each.label
        )
        for each in kept.kept[:3]
    )


TOOL = Tool(
    name="record_program",
    title="Record a program's kernels",
    run=record_program,
    arguments=RecordProgramArguments,
    result=ProgramRecording,
    search_hint="profile a script or binary: slow GPU kernels",
    read_only=False,
    destructive=True,
    idempotent=False,
    work=True,
    as_user=True,
    rerun=False,
)
