"""The command line: `kernelwright spec | moves | optimize | analyze | optimize-model | show |
kernelbench | export | compare | regression | replay | report | record | program | operator |
regraph | doctor | selftest | serve | broker | token | install | ui`.

Here are the commands that drive the server's own modules; `commands/` has the others.

Commands import what they need themselves, so that `serve` starts without the tables of
`show` and `doctor` answers where a package is broken.
"""

from __future__ import annotations

import errno
import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..runners.collecting import nothing_collected
from ..runners.errors import KernelwrightError
from ..runners.version import __version__
from .broker.command import app as broker
from .commands.compare import compare
from .commands.export import export
from .commands.modules.analyze import analyze
from .commands.modules.optimize_model import optimize_model
from .commands.moves import moves
from .commands.operator import app as operator
from .commands.program import app as program
from .commands.record import PASSED_ON, record
from .commands.regression import regression
from .commands.schema import schema
from .commands.spec import spec
from .dashboard.command import ui
from .http.token_command import app as token
from .install.command import install
from .kernelbench import kernelbench
from .optimizing import optimize
from .options.earlier_words import without_earlier_words
from .options.files import MarkdownFile
from .options.gpus import GpuNames, gpu_names
from .options.paths import folder_there, there
from .regraph import app as regraph
from .replay import replay
from .reports import report

app = typer.Typer(
    name="kernelwright",
    help="Make kernels faster: propose, build, prove, time, keep.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

USAGE = 2
"""Exit status of typer for an option that it does not know or take."""

app.add_typer(regraph, name="regraph")
app.add_typer(token, name="token")
app.add_typer(program, name="program")
app.add_typer(operator, name="operator")
app.add_typer(broker, name="broker")
for each in (
    spec,
    moves,
    optimize,
    analyze,
    optimize_model,
    kernelbench,
    export,
    compare,
    regression,
    replay,
    report,
    install,
    ui,
    schema,
):
    app.command()(each)
app.command(context_settings=PASSED_ON)(record)


class Tier(StrEnum):
    """What `selftest` tries."""

    native = "native"
    device = "device"
    all = "all"


def main() -> None:
    """The console script. Errors of ours, and a disk that is full, are told in plain text.

    Ends with 1 where the command line itself is wrong: 2, which is usual, says that nothing was
    gained.
    """
    try:
        sys.argv[1:] = without_earlier_words(sys.argv[1:])
        app()
    except SystemExit as ended:
        if ended.code == USAGE and not isinstance(ended.__context__, typer.Exit):
            sys.exit(1)
        raise
    except KernelwrightError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        print(f"error: the disk is full: {error.strerror}", file=sys.stderr)
        print("Next: make room; optimize --resume goes on from what was kept", file=sys.stderr)
        sys.exit(1)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"kernelwright {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    _: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    pass


@app.command()
def show(
    outdir: Annotated[Path, typer.Argument(callback=there, help="The --outdir of an earlier run.")],
    handle: Annotated[
        str, typer.Argument(help="A kernel, variant or search; its beginning is enough.")
    ] = "",
    brief: Annotated[
        str,
        typer.Option(
            metavar="VARIANT",
            help="With a kernel: what a planner is told of this variant (or baseline, incumbent).",
        ),
    ] = "",
    as_json: Annotated[
        bool, typer.Option("--json", help="As JSON, for scripts; with --brief, the brief.")
    ] = False,
    export_markdown: MarkdownFile = None,
) -> None:
    """Tables of what an outdir holds; a variant's source, diff and evaluation."""
    from .show import show_brief, show_handle, show_json, write_markdown

    if brief:
        show_brief(outdir, handle, brief, as_json)
    elif as_json:
        show_json(outdir, handle)
    else:
        show_handle(outdir, handle)
    if export_markdown is not None:
        write_markdown(outdir, export_markdown)


@app.command()
def doctor() -> None:
    """What this machine has for building and timing kernels.

    Exit status: 0 host C++ kernels work, 1 they do not (then it says what to install).
    """
    from .doctor import probe_host
    from .tables import host_table
    from .terminal.grid import console

    report = probe_host()
    console().print(host_table(report))
    print(f"kernel types that this version builds and runs: {', '.join(report.kernel_types)}")
    if report.host_cpp_works:
        print("host C++ kernels: work")
        return
    print(f"host C++ kernels: do not work here; {report.advice}")
    raise typer.Exit(1)


@app.command()
def selftest(
    tier: Annotated[Tier, typer.Option(help="Host kernels, GPU kernels, or both.")] = Tier.all,
    only: Annotated[
        list[str] | None,
        typer.Option(help="A page, a kernel type (cpp, cuda, triton) or a victim; repeatable."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", dir_okay=False, help="Also write the outcomes here.")
    ] = None,
    gpus: GpuNames = "",
) -> None:
    """Try known cheats and broken kernels, and honest ones that look like them, on this machine.

    Exit status: 0 every cheat was caught and no honest kernel stopped, 1 otherwise.
    """
    from .selftesting import run_selftest

    raise typer.Exit(run_selftest(tier.value, only or (), json_file, gpu_names(gpus)))


@app.command()
def serve(
    outdir: Annotated[
        Path | None,
        typer.Option(help="Folder of the state; default .kernelwright in the project."),
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            callback=folder_there,
            help="A folder that files may be read from; repeatable; default the project.",
        ),
    ] = None,
    gpus: GpuNames = "",
    http: Annotated[
        str,
        typer.Option(
            metavar="[HOST:]PORT",
            help="Serve streamable HTTP there instead, to holders of a token (see `token`).",
        ),
    ] = "",
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="With --http: a further name clients call it by, NAME or NAME:PORT."),
    ] = None,
) -> None:
    """Serve the tools to an MCP client over stdin and stdout, or to several over HTTP."""
    project = Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd())
    state, roots = outdir or project / ".kernelwright", root or [project]
    from .protocol.sdk_models import made_when_used

    if http:
        with nothing_collected(), made_when_used():
            from .http.addresses import read_address
            from .over_http import serve_http

        serve_http(state, roots, gpu_names(gpus), read_address(http, allow_host or ()))
    else:
        with nothing_collected(), made_when_used():
            from .app import serve_stdio

        serve_stdio(state, roots, gpu_names(gpus))
