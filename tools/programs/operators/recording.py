"""Operators recorded and reported."""

from __future__ import annotations

from pathlib import Path

from ....analysis.programs.operators import OperatorReport, operator_report, operators_text
from ....runners.recording.operators.call_cost import note_cost, noted_cost
from ....runners.recording.operators.seen import operators_of
from ....runners.recording.operators.watching import TORCH, record_operators
from ....runners.recording.recording import COUNT, Program, recorded_program
from ....runners.recording.running import Ran
from ....runners.whole_files import write_whole
from ..recorded import REPORT_JSON, REPORT_TEXT


def operators_reported(
    program: Program, outdir: Path, keep_bytes: int = 0
) -> tuple[OperatorReport, Ran]:
    """Run and count; the report lies in the folder as JSON and text. Raises KernelwrightError."""
    found, ran = record_operators(program, outdir, keep_bytes)
    note_cost(outdir, next((each.device for each in found.rows if each.device == "cuda"), "cpu"))
    report = operator_report(found, program.command, noted_cost(outdir))
    write_whole(outdir / REPORT_JSON, report.model_dump_json(indent=2) + "\n")
    write_whole(outdir / REPORT_TEXT, operators_text(report) + "\n")
    return report, ran


def operators_again(outdir: Path) -> OperatorReport:
    """The report of a recording that was made earlier. Raises AccessError."""
    command = tuple(map(str, recorded_program(outdir)["command"]))
    return operator_report(operators_of(outdir / COUNT), command, noted_cost(outdir))


def is_of_operators(outdir: Path) -> bool:
    """Whether a recording is of PyTorch's operators. Raises AccessError for none at all."""
    return recorded_program(outdir)["front"] == TORCH
