"""The MCP application: every tool of TOOLS with strict arguments, structured results, and
errors in words.

This is the only place that knows MCP. Tools are blocking functions; each call runs in a thread
of its own, and what builds or runs goes through `jobs.Jobs` besides.
"""

from __future__ import annotations

import os
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.from_thread
import anyio.to_thread
from mcp.server import MCPServer
from mcp.server.caching import CacheHint
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolResult,
    InputRequiredResult,
)
from mcp_types import Tool as ToolOnWire

from ..runners import progress
from ..runners.errors import AccessError, KernelwrightError, SpecError
from ..runners.version import __version__
from .observing.audit import Audit
from .observing.calls import Observed
from .observing.logs import begin_logs
from .observing.spans import begin_spans
from .protocol import late
from .protocol.apps import Apps
from .protocol.kept_lists import LIST_TTL_MS, LISTS, kept_lists
from .protocol.lines import Answers, Requests
from .protocol.replies import answer, error_text
from .protocol.scopes import holder_of, may_work
from .resources.reading_server import ReadingServer
from .resources.tasks import Tasks
from .wire import claim_stdio
from .work.asker import asked_by
from .work.ending import end_on_signals
from .work.performs import Performs

if TYPE_CHECKING:
    from ..runners.model import Record
    from ..tools.base import Arguments, Tool

INSTRUCTIONS = """\
Kernelwright makes one kernel faster and proves it: it builds, checks against a reference, times \
in paired comparisons, and keeps account of all that was tried. You plan; it measures.

1. open_kernel with a spec: kernel_id, baseline times, parameters, headroom.
2. propose_moves with the kernel_id: what to try; inspect kernel, part source, to read it. A GPU \
kernel: profile first (ncu_summary), then find the region to blame (region_dag), then edit there.
3. Either search_step with planner "rules" (tunes by itself), or planner "client" (asks you: \
answer needs_candidates with its ticket), or by hand: compile_variant, then time_variant.
4. Read the verdict: `faster` means that the whole 95 % interval lies above 1; smaller \
differences are noise, do not chase them. `wrong`, `unsafe`, `timed_out` say what to repair.
5. Repeat from 2 until search_step stops or headroom is small.
6. export_variant writes the winner back (with backup and verification).

Handles (kernel_id, variant_id, search_id, job_id) stay valid across restarts; pass them on. \
Replies with status "running" hold a job_id: call job to wait, nothing is lost meanwhile; \
cancel_job ends it. \
Sources, diffs and logs come from inspect. One evaluation takes 1 to 20 s, one at a time."""

BROKER, OFF = "KERNELWRIGHT_BROKER", ("0", "off", "no", "false")
"""the variable that says whether a process of its own does the work, which is usual"""
AUDIT = "KERNELWRIGHT_AUDIT"
MOST_CALLS = 1000
"""under way at once, a thread each; nearly all of them wait for jobs, and block nobody"""


class Application(ReadingServer):
    """The server. Tools keep the order of TOOLS."""

    def __init__(self, desk: Performs, audit: Audit | None = None) -> None:
        """`audit`: where calls are written down; None: nowhere."""
        super().__init__(
            "kernelwright",
            title="Kernelwright",
            instructions=INSTRUCTIONS,
            version=__version__,
            log_level="WARNING",
            cache_hints=dict.fromkeys(LISTS, CacheHint(ttl_ms=LIST_TTL_MS, scope="private")),
            lifespan=self._closing,
            extensions=[Tasks(self.perform), Apps()],
            middleware=[] if audit is None else [Observed(audit)],
        )
        self._desk = desk
        self._threads = anyio.CapacityLimiter(MOST_CALLS)

    @asynccontextmanager
    async def _closing(self, _: MCPServer[None]) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.subscriptions.watch)
            try:
                yield
            finally:
                tasks.cancel_scope.cancel()
                self._desk.close()

    async def list_tools(self) -> list[ToolOnWire]:
        """Every tool with its schemas, in the order of TOOLS."""
        late.begin()
        return list(kept_lists().tools)

    async def call_tool(
        self, name: str, arguments: dict[str, Any], context: Context[None, Any] | None = None
    ) -> CallToolResult | InputRequiredResult:
        """Call a tool. Raises ToolError with what was wrong, what is valid, what to do next."""
        await late.loaded()
        from .protocol.arguments import read_arguments

        try:
            tool = _tool(name)
            _require_scope(tool, context)
            _require_user(tool, context)
            read = read_arguments(name, tool.arguments, arguments)
            with asked_by(holder_of(_request_of(context))):
                result = await self.perform(tool, read, None if context is None else _Told(context))
        except KernelwrightError as error:
            raise ToolError(error_text(error, [name, arguments])) from error
        return answer(result)

    async def perform(
        self, tool: Tool[Any, Any], arguments: Arguments, told: progress.Listener | None = None
    ) -> Any:
        """See `ReadingServer.perform`; `told` hears of progress."""
        work = partial(self._run, tool, arguments, told)
        return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._threads)

    async def serve(self) -> None:
        """Serve stdio until the client closes it, or a signal comes."""
        wire = claim_stdio()
        written = Answers(anyio.wrap_file(wire.answers))
        read = Requests(anyio.wrap_file(wire.requests), written)
        # The SDK asks no more of its files than these have.
        async with stdio_server(cast(Any, read), cast(Any, written)) as (requests, answers):
            server = self._lowlevel_server
            await server.run(requests, answers, server.create_initialization_options())

    def _run(
        self, tool: Tool[Any, Any], arguments: Arguments, told: progress.Listener | None
    ) -> Record:
        if told is None:
            return self._desk.perform(tool, arguments)
        with progress.listening(told):
            return self._desk.perform(tool, arguments)


def _tool(name: str) -> Tool[Any, Any]:
    from ..tools import TOOLS

    for tool in TOOLS:
        if tool.name == name:
            return tool
    raise SpecError(f"there is no tool `{name}`", valid=", ".join(each.name for each in TOOLS))


def _require_scope(tool: Tool[Any, Any], context: Context[None, Any] | None) -> None:
    """Raises AccessError where the token of a request lets its holder only read."""
    if not tool.read_only and not may_work(_request_of(context)):
        from ..tools import TOOLS

        raise AccessError(
            f"{tool.name} builds, runs or writes, and the token of this session is of scope read",
            valid=", ".join(each.name for each in TOOLS if each.read_only),
            next_step="ask for a token of scope work: `kernelwright token make NAME`",
        )


def _require_user(tool: Tool[Any, Any], context: Context[None, Any] | None) -> None:
    """Raises AccessError where a request that came over HTTP would run a program unconfined."""
    if tool.as_user and _request_of(context) is not None:
        raise AccessError(
            f"{tool.name} runs a program with the rights of whoever started this server, and a "
            "token of HTTP does not give those",
            valid="this tool over stdio",
            next_step="`kernelwright record -- COMMAND` on that machine, or `ssh HOST kernelwright "
            "serve` as the client's command",
        )


def _request_of(context: Context[None, Any] | None) -> object:
    """Of HTTP; None over stdio."""
    return None if context is None else context.request_context.request


class _Told(progress.Listener):
    """Passes progress on to the client that waits, in seconds since the call began."""

    def __init__(self, context: Context[None, Any]) -> None:
        self._context = context
        self._started = time.monotonic()

    def report(self, message: str) -> None:
        elapsed = round(time.monotonic() - self._started, 3)
        anyio.from_thread.run(self._context.report_progress, elapsed, None, message)

    def found(self, message: str) -> None:
        self.report(message)


def desk_of(outdir: Path, roots: Sequence[Path], gpus: Sequence[str]) -> Performs:
    """The broker's desk, unless BROKER says that this process is to do the work itself."""
    if os.environ.get(BROKER, "").lower() in OFF:
        from .work.desk import Desk

        return Desk(outdir, roots, gpus)
    from .broker.remote_desk import RemoteDesk

    return RemoteDesk(outdir, roots, gpus)


def audit_of(outdir: Path) -> Audit | None:
    """Where calls are written down, unless AUDIT says that they are not."""
    return None if os.environ.get(AUDIT, "").lower() in OFF else Audit(outdir)


def make_app(outdir: Path, roots: Sequence[Path], gpus: Sequence[str] = ()) -> Application:
    """The application over one state folder; it opens it at its first call."""
    from .work.desk import Desk

    return Application(Desk(outdir, roots, gpus), audit_of(outdir))


def serve_stdio(outdir: Path, roots: Sequence[Path], gpus: Sequence[str] = ()) -> None:
    """Serve one client over stdin and stdout; returns when the client has gone.

    SIGINT, SIGTERM and SIGHUP end the process at once, with all that it started but the broker,
    which goes on: what is on disk is complete at any moment.
    """
    claim_stdio()
    begin_logs()
    flush = begin_spans()
    desk = desk_of(outdir, roots, gpus)
    end_on_signals(desk.close, flush)
    try:
        anyio.run(Application(desk, audit_of(outdir)).serve)
    except* BrokenPipeError:
        pass  # the client went while an answer was written to it: nobody is left to tell
    finally:
        desk.close()
        flush()
    if late.under_way():
        os._exit(0)
