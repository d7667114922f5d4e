"""The verb `open_recorded`: the spec of a kernel that a program was seen to launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runners.model import Record
from .base import Tool, WorkArguments
from .parts.calls import call
from .record_program import RECORDING

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench


class OpenRecordedArguments(WorkArguments):
    """Which launch, and what is known of its kernel."""

    recording: str = ""
    label: str
    to: str
    source: str = ""
    """the .cu"""
    entry: str = ""
    reference: str = ""
    """default: the kernel itself"""


class RecordedSpec(Record):
    """Where the spec lies, and what is to be known of it."""

    spec_path: str
    """the first; `next` opens each kernel that an operator takes"""
    workloads: tuple[str, ...]
    """labels of the launches that it stands for"""
    notes: tuple[str, ...]
    next: tuple[str, ...]


def open_recorded(bench: Workbench, arguments: OpenRecordedArguments) -> RecordedSpec:
    """Write the spec of a launch that record_program kept, with source and data, into a new folder.

    verify_program puts a variant back. Example: {"label": "f1c2", "to": "scale"}
    """
    from .programs.opening import open_recorded as opened
    from .programs.operators.opening import open_operator
    from .programs.operators.recording import is_of_operators

    roots = bench.roots
    folder = roots.folders[0]
    to = roots.resolve(arguments.to, folder)
    outdir = roots.resolve(arguments.recording or RECORDING, folder)
    if is_of_operators(outdir):
        found = open_operator(outdir, arguments.label, to)
    else:
        found = opened(
            outdir,
            arguments.label,
            to,
            source=roots.file(arguments.source, folder) if arguments.source else None,
            entry=arguments.entry,
            reference=roots.file(arguments.reference, folder) if arguments.reference else None,
        )
    return RecordedSpec(
        spec_path=str(found.spec),
        workloads=found.workloads,
        notes=found.notes,
        next=tuple(call("open_kernel", spec_path=str(each)) for each in found.specs),
    )


TOOL = Tool(
    name="open_recorded",
    title="Open a recorded kernel",
    run=open_recorded,
    arguments=OpenRecordedArguments,
    result=RecordedSpec,
    search_hint="kernel out of a program",
    read_only=False,
    idempotent=False,
    work=True,
)
