"""The verb `ptx_for_source_span`: PTX and machine code of lines of source, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from ..analysis.profile.shares import longest
from ..analysis.spans import KernelCode, code_of_span, instruction_at
from ..analysis.spans.profile import LineProfile, counts_at, line_profile, other_build
from ..evaluation.evidence.kernel_code import SourceFile, code_of_variant, file_of_variant
from ..evaluation.evidence.profiles import kept_profile, workload_of
from ..runners.errors import SpecError
from ..runners.model import Record
from .base import Tool, WorkArguments
from .parts.calls import again
from .parts.span_rows import LineRow, line_rows, page_of, ptx_rows, sass_rows, without_code

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench


class SpanArguments(WorkArguments):
    """Which lines of which variant; or one instruction, to learn its line."""

    variant_id: str
    start: int | None = Field(default=None, ge=1)
    """first line of the source"""
    end: int | None = Field(default=None, ge=1)
    """last line; default: start"""
    ptx_line: int | None = Field(default=None, ge=1)
    """in place of start: a line of the PTX, to learn its source line"""
    sass_offset: int | None = Field(default=None, ge=0)
    """in place of start: bytes into the kernel's machine code"""
    part: Literal["lines", "ptx", "sass"] = "lines"
    """counts by line, or the instructions themselves"""
    kernel: str | None = None
    """name in the machine code; default: all launched"""
    workload: str | None = None
    """default: the first"""
    file: str | None = None
    """of the spec's kernel.files; default: the source"""
    offset: int = Field(default=0, ge=0)
    """next_offset of the reply before"""

    @model_validator(mode="after")
    def _asks_one_thing(self) -> SpanArguments:
        asked = (self.start, self.ptx_line, self.sass_offset)
        if sum(each is not None for each in asked) != 1:
            raise ValueError("give exactly one of start, ptx_line, sass_offset")
        if self.end is not None and self.start is None:
            raise ValueError("end: needs start")
        return self


class KernelTotal(Record):
    """A kernel that the workload launches, with all of its instructions."""

    kernel: str
    ptx: int
    sass: int


class SpanResult(Record):
    """Rows of lines, or instructions as text."""

    variant_id: str
    file: str
    kernels: tuple[KernelTotal, ...]
    lines: tuple[LineRow, ...] | None = None
    """those with machine code"""
    without_code: dict[str, str] | None = None
    """the others, by the reason why they have none"""
    instructions: tuple[str, ...] | None = None
    """`ptx LINE: ...` with the line of the PTX text, `sass OFFSET: ...` with bytes from the start
    of the kernel; then the places in the source, the innermost first"""
    total: int
    """rows of the whole answer"""
    next_offset: int | None = None
    """where the next page starts; None: this was the last"""
    missing: tuple[str, ...] = ()
    """what could not be known here"""
    profile: str
    """what the samples by line are of, or why there are none"""
    advice: str
    next: tuple[str, ...] = ()
    """calls that can be made as they stand"""


def ptx_for_source_span(bench: Workbench, arguments: SpanArguments) -> SpanResult:
    """Show what lines of a Triton or CUDA variant became: PTX and machine code (SASS), by line.

    Counts by line and kind, through inlined calls; samples, stalls, sectors and bank conflicts by
    line where ncu_summary has kept a profile. Builds the variant if need be, runs nothing, needs no
    GPU. Not for host C++. Counts of instructions are no times. Takes 0.1 to 8 s.
    Example: {"variant_id": "v0123456789ab", "start": 20, "end": 34}
    """
    file = file_of_variant(bench, arguments.variant_id, arguments.file)
    codes = code_of_variant(bench, arguments.variant_id, arguments.workload, arguments.kernel)
    profiles, whose = _profiles(bench, arguments, codes)
    if arguments.start is None:
        result = _back(arguments, file, codes, profiles)
    else:
        result = _span(arguments, file, codes, profiles, arguments.start)
    return result.model_copy(update={"profile": whose})


Profiles = Mapping[str, LineProfile]


def _profiles(
    bench: Workbench, arguments: SpanArguments, codes: Sequence[KernelCode]
) -> tuple[Profiles, str]:
    """The longest launch of each kernel in the profile that was kept, and what they are of, or why
    they are of nothing here."""
    workload = workload_of(bench, arguments.variant_id, arguments.workload)
    kept = kept_profile(bench, arguments.variant_id, workload)
    profiles, told = dict[str, LineProfile](), list[str]()
    for code in codes:
        launch = None if kept is None else longest(kept, code.entry)
        if launch is None or not launch.instructions:
            continue
        if why := other_build(launch, code):
            told.append(f"the profile of {launch.kernel} that is kept is left out: {why}")
        else:
            profiles[launch.kernel] = line_profile(launch)
            told.append(_whose(profiles[launch.kernel]))
    return profiles, "; ".join(told) or "no profile: ncu_summary makes one"


def _whose(profile: LineProfile) -> str:
    samples = counts_at(profile, profile.by_offset).samples or 0
    others = f", {profile.elsewhere} instructions of functions left out"
    return f"{samples:.0f} samples of {profile.kernel}{others if profile.elsewhere else ''}"


def _span(
    arguments: SpanArguments,
    file: SourceFile,
    codes: Sequence[KernelCode],
    profiles: Profiles,
    start: int,
) -> SpanResult:
    end = arguments.end or start
    spans = [code_of_span(code, file.name, start, end, file.lines) for code in codes]
    if arguments.part == "lines":
        told = without_code(spans) if arguments.offset == 0 else None
        result = _result(arguments, file, codes, line_rows(codes, spans, file.texts, profiles))
        return result.model_copy(update={"without_code": told})
    rows = list[str]()
    for code, span in zip(codes, spans, strict=True):
        rows += [f"kernel {code.entry}"] if len(codes) > 1 else []
        listed = sass_rows(span.sass, profiles.get(code.entry))
        rows += ptx_rows(span.ptx) if arguments.part == "ptx" else listed
    return _result(arguments, file, codes, rows)


def _back(
    arguments: SpanArguments, file: SourceFile, codes: Sequence[KernelCode], profiles: Profiles
) -> SpanResult:
    code = _only(arguments, codes)
    profile = profiles.get(code.entry)
    if arguments.sass_offset is not None:
        rows = list(sass_rows([instruction_at(code, arguments.sass_offset)], profile))
        return _result(arguments, file, [code], rows)
    above = code.by_ptx_line[arguments.ptx_line or 0]
    rows = [*ptx_rows([above]), *sass_rows(code.assembled.get(above.line, ()), profile)]
    return _result(arguments, file, [code], rows)


def _only(arguments: SpanArguments, codes: Sequence[KernelCode]) -> KernelCode:
    """The kernel that an instruction is of. Raises SpecError where there is none, or several."""
    line = arguments.ptx_line
    found = [code for code in codes if line is None or line in code.by_ptx_line]
    if not found:
        raise SpecError(
            f"line {line} of the PTX is no instruction of {', '.join(c.entry for c in codes)}",
            next_step="part ptx lists the lines that are",
        )
    if len(found) > 1:
        raise SpecError(
            "several kernels are launched, and each has its own PTX and offsets",
            valid=", ".join(code.entry for code in found),
            next_step="give kernel, too",
        )
    return found[0]


def _result(
    arguments: SpanArguments,
    file: SourceFile,
    codes: Sequence[KernelCode],
    rows: list[LineRow] | list[str],
) -> SpanResult:
    end = arguments.offset + page_of(rows, arguments.offset)
    kind = "lines" if arguments.start is not None and arguments.part == "lines" else "instructions"
    following = end if end < len(rows) else None
    result = SpanResult(
        variant_id=arguments.variant_id,
        file=file.name,
        kernels=tuple(
            KernelTotal(kernel=code.entry, ptx=len(code.ptx), sass=len(code.sass)) for code in codes
        ),
        total=len(rows),
        next_offset=following,
        missing=tuple(dict.fromkeys(each for code in codes for each in code.missing)),
        profile="",
        advice=_advice(arguments, following),
        next=_next(arguments, following),
    )
    return result.model_copy(update={kind: tuple(rows[arguments.offset : end])})


def _next(arguments: SpanArguments, following: int | None) -> tuple[str, ...]:
    if following is not None:
        return (again("ptx_for_source_span", arguments, offset=following),)
    if arguments.start is None or arguments.part != "lines":
        return ()
    return (again("ptx_for_source_span", arguments, part="sass", offset=0),)


def _advice(arguments: SpanArguments, following: int | None) -> str:
    if following is not None:
        return f"the same with offset {following} for more"
    if arguments.start is None:
        return "start and end of the source lines show all that belongs to them"
    if arguments.part == "lines":
        return "the same with part sass or ptx for the instructions of fewer lines"
    return "compile_variant with a change, then ask again: what did the compiler make of it?"


TOOL = Tool(
    name="ptx_for_source_span",
    title="See what lines of source became",
    run=ptx_for_source_span,
    arguments=SpanArguments,
    result=SpanResult,
    search_hint="PTX, SASS, assembly, machine code of source lines; hot lines",
    read_only=False,
    work=True,
)
