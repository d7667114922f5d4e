"""`kernelwright record -- COMMAND`: what a program does on the GPU, without a change to it."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ...runners.recording.fronts import Asked, Front
    from ...runners.recording.recording import Program
    from ...runners.recording.running import Ran
    from ...tools.programs.recorded import KeptOutcome

RECORDING = Path("kernelwright-recording")
MIB = 1 << 20
PASSED_ON = {"allow_interspersed_args": False}
"""options behind the command are the command's"""


def record(
    command: Annotated[list[str], typer.Argument(help="The program and its arguments.")],
    outdir: Annotated[
        Path, typer.Option(file_okay=False, help="Folder of the recording; replaced.")
    ] = RECORDING,
    keep: Annotated[
        bool,
        typer.Option(help="Run it a second time and keep the launches that make 90 % of the time."),
    ] = False,
    front: Annotated[
        str,
        typer.Option(
            metavar="cupti|shim|torch",
            help="How: CUPTI tells times; the shim counts alone, beside another profiler; torch "
            "sees PyTorch's operators, with or without a GPU.",
        ),
    ] = "",
    most_mib: Annotated[
        int, typer.Option(min=1, help="With --keep: MiB of all kept launches together.")
    ] = 8192,
    most_launch_mib: Annotated[
        int, typer.Option(min=1, help="With --keep: MiB that one kept launch may reach.")
    ] = 1024,
    timeout: Annotated[
        float | None, typer.Option(min=1, help="Seconds after which the program is ended.")
    ] = None,
    operators: Annotated[
        bool, typer.Option(help="With --keep: number PyTorch's operators; eager programs only.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The report as JSON.")] = False,
) -> None:
    """Run a program and say which kernels its GPU time goes to, and what faster ones could gain.

    The program runs as it is, with your rights, in this folder. The recording (0700) holds its
    machine code and, with --keep, its data; `kernelwright program delete` removes it.

    Exit status: 0 recorded, 1 nothing could be, or the program failed.
    """
    from ...runners.recording.fronts import Asked
    from ...runners.recording.recording import Program
    from ...runners.recording.running import given_input

    program = Program(
        tuple(command), Path.cwd(), timeout_s=timeout, echo=not as_json, stdin=given_input()
    )
    outdir = outdir.absolute()
    if front == "torch":
        _operators(program, outdir, most_mib * MIB if keep else 0, as_json)
        return
    asked = Asked(
        most_launch_bytes=most_launch_mib * MIB, most_bytes=most_mib * MIB, operators=operators
    )
    _kernels(program, outdir, asked, front_named(front), as_json)
    if keep:
        _keep(program, outdir, asked, as_json)


def _kernels(
    program: Program, outdir: Path, asked: Asked, front: Front | None, as_json: bool
) -> None:
    """Run and count; leaves, where the program failed or was ended."""
    from ...analysis.programs.report import report_text
    from ...tools.programs.recorded import recorded_report, report_of

    try:
        report, found = recorded_report(program, outdir, asked, front)
    except KeyboardInterrupt:
        print("\nended by you; what was written until then:", file=sys.stderr)
        print(report_text(report_of(outdir)))
        raise typer.Exit(130) from None
    print(report.model_dump_json(indent=2) if as_json else "\n" + report_text(report))
    _ended(found.ran, outdir)


def _keep(program: Program, outdir: Path, asked: Asked, as_json: bool) -> None:
    """The second run, which keeps launches."""
    from ...tools.programs.recorded import keep_representative

    told = kept_text(keep_representative(program, outdir, asked))
    print(told, file=sys.stderr if as_json else sys.stdout)


def _operators(program: Program, outdir: Path, keep_bytes: int, as_json: bool) -> None:
    """The same of PyTorch's operators."""
    from ...analysis.programs.operators import first_to_open, operators_text
    from ...tools.programs.operators.recording import operators_reported

    report, ran = operators_reported(program, outdir, keep_bytes)
    print(report.model_dump_json(indent=2) if as_json else "\n" + operators_text(report))
    _ended(ran, outdir)
    label = first_to_open(report)
    if label and not as_json:
        opened = f"kernelwright program spec {outdir} {label} --to {label}"
        again = f"kernelwright record --front torch --keep -- {shlex.join(program.command)}"
        print(f"next: {opened if keep_bytes else again}")


def _ended(ran: Ran, outdir: Path) -> None:
    """Leaves, where the program failed."""
    if ran.failed:
        print(f"the program ended with {ran.ending}; its output is in {outdir}", file=sys.stderr)
        raise typer.Exit(1)


def front_named(name: str) -> Front | None:
    """The front by its name; none is wanted where it is empty. Raises SpecError."""
    from ...runners.errors import SpecError

    match name:
        case "":
            return None
        case "cupti" | "shim":
            return name
        case _:
            raise SpecError(f"there is no front {name!r}", valid="cupti, shim, torch")


def kept_text(found: KeptOutcome) -> str:
    """Which launches were kept."""
    lines = [f"kept {len(found.kept)} launches, {sum(k.nbytes for k in found.kept) / MIB:.1f} MiB"]
    lines += [f"not kept: {label}: {why}" for label, why in found.refused.items()]
    return "\n".join(lines)
