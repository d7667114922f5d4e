"""The tools of the server as methods: typed results, jobs waited for, here or by a broker."""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..runners.errors import KernelwrightError
from ..runners.model import Record
from ..server.app import desk_of
from ..server.protocol.arguments import read_arguments
from ..server.work.desk import Desk
from ..store.jobs import Reply
from ..tools import (
    compile_variant,
    export_variant,
    inspect,
    open_kernel,
    propose_moves,
    search_step,
    time_variant,
)
from ..tools import job as waiting
from ..tools.base import MAX_WAIT_S, Tool

if TYPE_CHECKING:
    from ..tools.compile_variant import CompiledVariant
    from ..tools.export_variant import ExportedVariant
    from ..tools.inspect import Inspected
    from ..tools.open_kernel import OpenedKernel
    from ..tools.parts.search_answer import Searched
    from ..tools.propose_moves import ProposedMoves
    from ..tools.time_variant import TimedVariant

R = TypeVar("R", bound=Record)


class Kernelwright:
    """A project's kernels, as an agent has them: every method is the tool of its name, with its
    arguments, and answers with its result once the work is done.

    `broker`: let the project's broker do the work, so that it outlives this program and is shared
    with every client. Raises KernelwrightError, as the tools do.
    """

    def __init__(
        self,
        root: str | Path = ".",
        outdir: str | Path | None = None,
        gpus: tuple[str, ...] = (),
        *,
        broker: bool = False,
    ) -> None:
        folder = Path(root).absolute()
        state = folder / ".kernelwright" if outdir is None else Path(outdir).absolute()
        self._desk = (desk_of if broker else Desk)(state, [folder], gpus)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End what was started here; what is unfinished waits for the next one."""
        self._desk.close()

    def open_kernel(self, **arguments: Any) -> OpenedKernel:
        """By spec_path, spec, source_path (with goal), or kernel_id."""
        return self.call(open_kernel.TOOL, **arguments)

    def propose_moves(self, **arguments: Any) -> ProposedMoves:
        """What could be tried from a variant."""
        return self.call(propose_moves.TOOL, **arguments)

    def compile_variant(self, **arguments: Any) -> CompiledVariant:
        """Build a candidate."""
        return self.call(compile_variant.TOOL, **arguments)

    def time_variant(self, **arguments: Any) -> TimedVariant:
        """Check a variant, and time it against the baseline."""
        return self.call(time_variant.TOOL, **arguments)

    def search_step(self, **arguments: Any) -> Searched:
        """Start a search, advance it, or answer its question."""
        return self.call(search_step.TOOL, **arguments)

    def inspect(self, what: str, **arguments: Any) -> Inspected:
        """Anything that has a handle."""
        return self.call(inspect.TOOL, what=what, **arguments)

    def export_variant(self, **arguments: Any) -> ExportedVariant:
        """Write a variant back to its source file."""
        return self.call(export_variant.TOOL, **arguments)

    def call(self, tool: Tool[Any, R], **arguments: Any) -> R:
        """Any tool: `call(kernelwright.tools.region_dag.TOOL, variant_id=...)`."""
        waited = {"wait_s": MAX_WAIT_S} if tool.work else {}
        asked = read_arguments(tool.name, tool.arguments, waited | arguments)
        found = self._desk.perform(tool, asked)
        if tool.work:
            found = self._ended(Reply.model_validate(found.model_dump()))
        return tool.result.model_validate(found.model_dump(mode="json"))

    def _ended(self, reply: Reply) -> Record:
        while reply.status in ("queued", "running"):
            asked = waiting.JobArguments(job_id=reply.job_id, wait_s=MAX_WAIT_S)
            reply = Reply.model_validate(self._desk.perform(waiting.TOOL, asked).model_dump())
        if reply.status != "done" or reply.result is None:
            said = reply.error or reply.kept or ""
            raise KernelwrightError(f"{reply.tool} ended as {reply.status}: {said}")
        return reply.result
