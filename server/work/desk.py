"""A workbench and its jobs in this process, which perform the verbs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...runners.errors import KernelwrightError
from ...runners.model import Record
from ...runners.whole_files import write_whole
from ...tools import TOOLS
from ...tools.base import Arguments, Tool, WorkArguments
from ...tools.job import wait_for
from ...tools.parts.jobs import reply_of
from ...tools.parts.named_variants import with_ids
from .asker import asker
from .performs import Performs

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench
    from .jobs import Jobs


STATE_FOLDER = ".kernelwright"
"""in a project, where nobody said another one"""


class Desk(Performs):
    """The workbench and its jobs, opened by the first call: the server answers before that."""

    def __init__(self, outdir: Path, roots: Sequence[Path], gpus: Sequence[str]) -> None:
        self._outdir, self._roots, self._gpus = outdir, roots, gpus
        self._lock = threading.Lock()
        self._open: tuple[Workbench, Jobs] | None = None
        self._closed = False

    def opened(self) -> tuple[Workbench, Jobs]:
        """The workbench and its jobs. Raises StoreError."""
        with self._lock:
            if self._closed:
                raise KernelwrightError("the server is ending", next_step="start it again")
            if self._open is None:
                from ...search.session.workbench import Workbench
                from .jobs import Jobs

                _hide_from_git(self._outdir)
                bench = Workbench(self._outdir, self._roots, self._gpus)
                self._open = bench, Jobs(bench, TOOLS)
            return self._open

    def perform(self, tool: Tool[Any, Any], arguments: Arguments) -> Record:
        """See `Performs.perform`."""
        return self.answer(tool, arguments, client=asker())

    def answer(
        self,
        tool: Tool[Any, Any],
        arguments: Arguments,
        request: str = "",
        submitted: Callable[[str], None] | None = None,
        client: str = "",
    ) -> Record:
        """As `perform`. `request` names the call: the same one, sent again, meets its job.
        `submitted` hears of the job at once. `client` takes turns with others."""
        bench, jobs = self.opened()
        arguments = with_ids(bench, arguments)
        if not isinstance(arguments, WorkArguments):
            return tool.run(bench, arguments)
        job_id = jobs.submit(tool, arguments, request, client)
        if submitted is not None:
            submitted(job_id)
        record = wait_for(bench, job_id, arguments.wait_s)
        if record.state == "failed":
            raise KernelwrightError(record.error)
        return reply_of(bench, record)

    def unfinished(self) -> int:
        """Jobs of this process that have not ended."""
        with self._lock:
            known = self._open
        return 0 if known is None else known[1].unfinished()

    def close(self) -> None:
        """End every process; work that is unfinished is left for the next server."""
        with self._lock:
            self._closed = True
            if self._open is not None:
                bench, jobs = self._open
                self._open = None
                jobs.stop()
                bench.close()


def _hide_from_git(outdir: Path) -> None:
    """The state that a server keeps within a project is none of the project's files; a folder of
    another name is one that somebody chose, and may want to keep."""
    ignoring = outdir / ".gitignore"
    if outdir.name != STATE_FOLDER or ignoring.exists():
        return
    with suppress(OSError):  # whoever cannot write here is told so by the store
        outdir.mkdir(parents=True, exist_ok=True)
        write_whole(ignoring, "*\n")
