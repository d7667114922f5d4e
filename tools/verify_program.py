"""The verb `verify_program`: whether a program is faster, and as right, with another kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, model_validator

from ..analysis.programs.outcome import ProgramVerdict
from .base import Tool, WorkArguments
from .record_program import RECORDING

if TYPE_CHECKING:
    from pathlib import Path

    from ..runners.recording.pairs import Judged
    from ..runners.recording.swaps import Replacement
    from ..search.session.workbench import Workbench


class VerifyProgramArguments(WorkArguments):
    """What takes the place of what, and how the program is judged."""

    recording: str = ""
    label: str
    variant_id: str = ""
    """of a kernel of open_recorded; or cubin and entry"""
    cubin: str = ""
    entry: str = ""
    grid: str = ""
    """x,y,z; default: the original's"""
    block: str = ""
    shared: int = Field(default=-1, ge=-1)
    metric: str = ""
    """regex of a number that it prints; default: the wall's time"""
    higher: bool = False
    each: bool = False
    """the median counts, not the last"""
    outputs: tuple[str, ...] = ()
    """files compared; default: what it prints"""
    pairs: int = Field(default=6, ge=2, le=100)
    install: bool = False
    """where it is faster"""

    @model_validator(mode="after")
    def _one_replacement(self) -> VerifyProgramArguments:
        named = bool(self.cubin) and bool(self.entry)
        if bool(self.variant_id) == named:
            raise ValueError("exactly one of variant_id, or cubin with entry")
        return self


def verify_program(bench: Workbench, arguments: VerifyProgramArguments) -> ProgramVerdict:
    """Run a recorded program with and without another kernel, in turns; judge time and outputs.

    Runs it 2 * pairs + 1 times. Example: {"label": "f1c2", "variant_id": "v0123456789ab"}
    """
    from ..runners.progress import report as tell
    from ..runners.recording.pairs import Judged
    from ..runners.recording.recording import program_again
    from .programs.changing import verified
    from .programs.operators.recording import is_of_operators

    outdir = bench.roots.resolve(arguments.recording or RECORDING, bench.roots.folders[0])
    judged = Judged(
        metric=arguments.metric,
        higher=arguments.higher,
        each=arguments.each,
        outputs=arguments.outputs,
    )
    if is_of_operators(outdir):
        return _operator(bench, arguments, outdir, judged)
    new = _replacement(bench, arguments, outdir)
    tell("the program runs in pairs")
    return verified(
        program_again(outdir),
        outdir,
        arguments.label,
        new,
        judged,
        pairs=arguments.pairs,
        wanted=arguments.install,
    )


def _operator(
    bench: Workbench, arguments: VerifyProgramArguments, outdir: Path, judged: Judged
) -> ProgramVerdict:
    from ..runners.errors import SpecError
    from ..runners.progress import report as tell
    from ..runners.recording.recording import program_again
    from .programs.operators.exporting import export_winner
    from .programs.operators.putting import verified_operator

    if not arguments.variant_id:
        raise SpecError("in an operator's place goes a variant", valid="variant_id")
    winner = outdir / "winners" / arguments.variant_id
    export_winner(bench, outdir, [arguments.label], winner, arguments.variant_id)
    tell("the program runs in pairs")
    return verified_operator(
        program_again(outdir),
        outdir,
        winner,
        judged,
        pairs=arguments.pairs,
        wanted=arguments.install,
    )


def _replacement(bench: Workbench, arguments: VerifyProgramArguments, outdir: Path) -> Replacement:
    from .programs.replacements import replacement_named, replacement_of_variant

    if arguments.variant_id:
        return replacement_of_variant(bench, arguments.variant_id, arguments.label)
    cubin = bench.roots.file(arguments.cubin, bench.roots.folders[0])
    geometry = (arguments.grid, arguments.block, arguments.shared)
    return replacement_named(outdir, arguments.label, cubin, arguments.entry, geometry)


TOOL = Tool(
    name="verify_program",
    title="Try a kernel in its program",
    run=verify_program,
    arguments=VerifyProgramArguments,
    result=ProgramVerdict,
    search_hint="put a kernel back, end to end",
    read_only=False,
    destructive=True,
    idempotent=False,
    work=True,
    as_user=True,
    rerun=False,
)
