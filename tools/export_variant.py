"""The verb `export_variant`: the winner written back, verified, undone if that fails."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from ..evaluation.difference import launch_words
from ..runners import progress
from ..runners.errors import KernelwrightError, SpecError
from ..runners.model import Record, Variant, ordered
from ..runners.specs.normalise import source_key
from ..store.records import Confirmation, KernelRecord, VariantRecord
from .base import Tool, WorkArguments
from .parts.baked_parameters import Baked, bake
from .parts.build_line import build_line, flags_for
from .parts.calls import call
from .parts.own_launch import own_launch
from .parts.written_file import Written, write_with_backup

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench


class ExportVariantArguments(WorkArguments):
    """Which variant, and where to."""

    variant_id: str
    path: str | None = None
    """default: the file of the kernel"""
    confirm: bool = True
    """confirm it first, unless it was"""
    force: bool = False
    """write it though it was not confirmed to be faster; a wrong one is never written"""


class ExportedVariant(Record):
    """What was written, and how it was verified."""

    path: str
    backup: str | None = None
    """what the file held before"""
    variant_id: str
    baked: dict[str, int]
    """parameters that are now the defaults in the source"""
    build_flags: tuple[str, ...] = ()
    """what it was built with: the variant's or the spec's flags, and the macros that the source
    names and has no guarded default for"""
    build_line: str | None = None
    """the command that builds the file so; None where no compiler is called by hand"""
    launch: dict[str, int] = Field(default_factory=dict[str, int])
    """GPU kernels: values that your launch must use, as they have no place in the source"""
    plan: dict[str, Any] | None = None
    """GPU kernels: the variant's own launch, where it is not the spec's: yours must be so"""
    compiler: str | None = None
    confirmation: str
    verified: str
    note: str | None = None
    advice: str


def export_variant(bench: Workbench, arguments: ExportVariantArguments) -> ExportedVariant:
    """Write a variant back to the user's source file, with a backup, and verify what was written.

    The winner is first confirmed: fresh seeds, held-out workloads, a fresh process. Parameters are
    baked in as defaults; what has no place in the source is told. What was written is rebuilt; if
    it is not the same machine code or not right, the file is put back. Replaces a file of the user:
    call it when they want the result. Takes 5 to 60 s.
    Example: {"variant_id": "v0123456789ab"}
    """
    record = bench.evaluator.variant(arguments.variant_id)
    kernel = bench.evaluator.kernel(record.variant.kernel_id)
    path = _target(bench, kernel, arguments.path)
    if arguments.variant_id == kernel.baseline:
        raise SpecError(
            "this is the baseline: nothing to export",
            valid="a faster variant",
            next_step=f"{call('search_step', kernel_id=kernel.kernel_id)} looks for one",
        )
    confirmation = _confirmed(bench, arguments)
    baked = bake(
        record.variant.source, record.variant.parameters, kernel.loaded.spec.kernel.kernel_type
    )
    note = _edited_since(kernel, path)
    written = write_with_backup(path, baked.source)
    try:
        progress.report("verifying what was written")
        verified = _verify(bench, kernel, record, baked, path)
    except BaseException as error:
        written.undo()
        if isinstance(error, KernelwrightError):
            raise SpecError(
                f"{path} was put back as it was: {error.message}",
                next_step="look at the variant with inspect; nothing was changed",
            ) from error
        raise
    told = _told(kernel, record, baked, written, confirmation, verified)
    return told.model_copy(update={"note": note})


def _target(bench: Workbench, kernel: KernelRecord, path: str | None) -> Path:
    if path is None:
        path = kernel.loaded.source_path
    if path is None:
        raise SpecError(
            "the kernel's source came within its spec: there is no file to write back to",
            next_step="give path, a file beneath the roots",
        )
    target = bench.roots.resolve(Path(path), bench.roots.folders[0])
    if target.is_dir() or not target.parent.is_dir():
        raise SpecError(f"{target} is no place for a file", valid="a file in an existing folder")
    return target


def _edited_since(kernel: KernelRecord, path: Path) -> str | None:
    """What to say where the file is not the source that the kernel was opened with."""
    if str(path) != kernel.loaded.source_path or not path.exists():
        return None
    if path.read_bytes() == kernel.loaded.source.encode():
        return None
    return "the file was changed since the kernel was opened; the backup holds what it was"


def _confirmed(bench: Workbench, arguments: ExportVariantArguments) -> str:
    """What is known of the variant; raises SpecError when that does not allow an export."""
    variant_id, evaluator = arguments.variant_id, bench.evaluator
    evaluation = evaluator.evaluation(variant_id)
    if evaluation is None or not evaluation.ending.measured:
        if evaluation is None or not evaluation.ending.final:
            ended, call = "has no verdict yet", f'time_variant {{"variant_id": "{variant_id}"}}'
        else:
            ended, call = f"ended as `{evaluation.ending}`", "choose another variant"
        raise SpecError(
            f"`{variant_id}` {ended}; only what is right is written back", next_step=call
        )
    found = evaluator.confirmation(variant_id)
    if found is None and arguments.confirm:
        progress.report("confirming: fresh seeds, held-out workloads, a fresh process")
        found = evaluator.confirm(variant_id)
    return _allowed(variant_id, found, arguments.force)


def _allowed(variant_id: str, found: Confirmation | None, force: bool) -> str:
    if found is not None and not found.right:
        raise SpecError(
            f"`{variant_id}` is wrong under confirmation: {found.message}",
            next_step="choose another variant: inspect what kernel, part variants lists them",
        )
    if found is not None and (found.accepted or force):
        return found.message
    if found is None and force:
        return "not confirmed; written by force"
    why = "was not confirmed" if found is None else f"was not confirmed as faster: {found.message}"
    raise SpecError(
        f"`{variant_id}` {why}",
        next_step="choose another variant, or export it all the same with force: true",
    )


def _verify(
    bench: Workbench, kernel: KernelRecord, record: VariantRecord, baked: Baked, path: Path
) -> str:
    """Build what lies on disk, without the macros that were baked in, and compare machine code.

    Other code is evaluated like any candidate. Raises SpecError when it is not right.
    """
    text = bench.roots.read(path)
    if text != baked.source:
        raise SpecError("what was read back is not what was written")
    as_written = VariantRecord(
        variant=Variant(
            kernel_id=kernel.kernel_id,
            source=text,
            source_key=source_key(text, kernel.loaded.spec.kernel.kernel_type),
            plan=record.variant.plan,
            options=record.variant.options,
            parameters=baked.flags,
        ),
        parent=record.variant.variant_id,
        method="export",
        detail="parameters as defaults in the source",
    )
    ours, theirs = bench.evaluator.build(record), bench.evaluator.build(as_written)
    if theirs.artifact is None or ours.artifact is None:
        raise SpecError(f"it does not build: {theirs.message or ours.message}")
    if theirs.artifact.code_hash == ours.artifact.code_hash:
        return "read again and rebuilt: the same machine code as the variant"
    evaluation = bench.evaluator.evaluate(as_written)
    if evaluation.ending not in ("faster", "tie"):
        raise SpecError(f"it ended as `{evaluation.ending}`: {evaluation.message}")
    return f"read again, rebuilt and evaluated: {evaluation.message}"


def _told(
    kernel: KernelRecord,
    record: VariantRecord,
    baked: Baked,
    written: Written,
    confirmation: str,
    verified: str,
) -> ExportedVariant:
    spec, options = kernel.loaded.spec.kernel, record.variant.options
    macros, launch = _left(kernel, baked.flags)
    flags = flags_for(kernel.loaded, record.variant, baked.source, macros)
    line = build_line(kernel.loaded, record.variant, flags, written.path)
    needed = "" if line is None else f"; build it with: {line}"
    needed += f"; launch it with {ordered(launch)}" if launch else ""
    plan = own_launch(kernel.loaded, record.variant)
    needed += f"; its launch is another one: {launch_words(plan)}" if plan else ""
    return ExportedVariant(
        path=str(written.path),
        backup=None if written.backup is None else str(written.backup),
        variant_id=record.variant.variant_id,
        baked=baked.values,
        build_flags=flags,
        build_line=line,
        launch=launch,
        plan=plan,
        compiler=options.compiler if options.compiler != spec.compiler else None,
        confirmation=confirmation,
        verified=verified,
        advice=f"run the project's own tests{needed}",
    )


def _left(kernel: KernelRecord, values: Mapping[str, int]) -> tuple[dict[str, int], dict[str, int]]:
    """What has no place in the source: macros for the compiler, and values of the launch."""
    if not kernel.loaded.spec.kernel.language.macros:
        return {}, dict(values)
    declared = kernel.loaded.spec.parameters
    macros = {name: value for name, value in values.items() if name in declared}
    return macros, {name: value for name, value in values.items() if name not in declared}


TOOL = Tool(
    name="export_variant",
    title="Write the winner back",
    run=export_variant,
    arguments=ExportVariantArguments,
    result=ExportedVariant,
    search_hint="write the fastest version back to the file; save, apply, finish the optimization",
    read_only=False,
    destructive=True,
    idempotent=False,
    work=True,
    rerun=False,
)
