"""The command line: `kernelwright optimize | show | replay | regraph | doctor | selftest | spec |
serve`.

Commands import what they need themselves, so that `serve` starts without the tables of
`show` and `doctor` answers where a package is broken.
"""

from __future__ import annotations

import errno
import json
import os
import sys
import tempfile
from enum import StrEnum
from importlib import metadata
from pathlib import Path
from typing import Annotated

import typer

from ..runners.errors import KernelwrightError
from .http.token_command import app as token
from .options.earlier_words import without_earlier_words
from .options.paths import file_there, folder_there, there
from .regraph import app as regraph
from .replay import replay

app = typer.Typer(
    name="kernelwright",
    help="Make kernels faster: propose, build, prove, time, keep.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

USAGE = 2
"""Exit status of typer for an option that it does not know or take."""

Outdir = Annotated[Path, typer.Option(help="Folder of the state and of the exported files.")]

app.add_typer(regraph, name="regraph")
app.add_typer(token, name="token")
app.command()(replay)


class HeadlessPlanner(StrEnum):
    """Who may plan for `optimize`."""

    rules = "rules"
    anthropic = "anthropic"
    command = "command"


class Tier(StrEnum):
    """What `selftest` tries."""

    native = "native"
    device = "device"
    all = "all"


GpuNames = Annotated[
    str,
    typer.Option(
        help="GPUs to use, by index or UUID: 0,1 or all; those of one model then work on one "
        "kernel together. Default: all of this machine, one a kernel."
    ),
]


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
        print(f"kernelwright {metadata.version('kernelwright')}")
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
def optimize(
    input: Annotated[
        Path, typer.Option(callback=there, help="A spec, or a folder of specs (*.json).")
    ],
    outdir: Outdir = Path("out"),
    budget_builds: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="50",
            help="Builds that may be spent; with --resume, a new budget for the old search.",
        ),
    ] = None,
    budget_seconds: Annotated[
        float | None,
        typer.Option(min=0.1, help="Seconds of each search, opening and confirming aside."),
    ] = None,
    min_pred_gain: Annotated[
        float, typer.Option(min=0.0, help="Skip candidates that predict less (0.02 = 2 %).")
    ] = 0.02,
    min_gain: Annotated[
        float, typer.Option(min=0.0, help="The smallest gain that makes a new best.")
    ] = 0.01,
    patience: Annotated[
        int, typer.Option(min=1, help="Stop after this many evaluations without a new best.")
    ] = 25,
    ncu_every: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Profile the best GPU variant after every so many evaluations, for planners; 0: "
            "never, as without it.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides between equal choices of the search.")] = 0,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any setting of the search by its name, over the options above; repeatable: "
            "policy=beam, c_puct=0.5. A name that is not known prints those that are.",
        ),
    ] = None,
    no_llm: Annotated[
        bool, typer.Option("--no-llm", help="Propose by rules alone (what happens anyway).")
    ] = False,
    planner: Annotated[
        HeadlessPlanner,
        typer.Option(help="Who proposes: rules, a model (anthropic), or a program (command)."),
    ] = HeadlessPlanner.rules,
    model: Annotated[str, typer.Option(help="Of planner anthropic: the model.")] = "",
    command: Annotated[
        str,
        typer.Option(help="Of planner command: reads a question as JSON, prints candidates."),
    ] = "",
    budget_usd: Annotated[
        float | None, typer.Option(min=0.0, help="Dollars that each search may cost.")
    ] = None,
    budget_tokens: Annotated[
        int | None, typer.Option(min=1, help="Tokens that each search may read and write.")
    ] = None,
    planner_assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--planner-set",
            metavar="NAME=VALUE",
            help="Any setting of the planner by its name: effort=high, tool_rounds=3; repeatable.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the unfinished search in OUTDIR.")
    ] = False,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            callback=folder_there,
            help="A further folder that specs may read files from; repeatable.",
        ),
    ] = None,
    gpus: GpuNames = "",
) -> None:
    """Search for a faster variant of one kernel or several, without a client: by rules, or with a
    model or a program that plans (docs/planners.md).

    Exit status: 0 a faster variant was confirmed, 2 nothing gained, 1 every spec failed, 3 some of
    several did (0 and 2 are of a run without failures),
    130 or 143 stopped by Ctrl-C or SIGTERM (go on with --resume).
    """
    from .headless import Headless, run
    from .options.assignments import settings_from
    from .planning.options import PlannerOptions

    chosen = PlannerOptions(
        None if no_llm or planner is HeadlessPlanner.rules else planner.value,
        model,
        command,
        budget_usd,
        budget_tokens,
        tuple(planner_assignments or ()),
    )
    flags = {} if budget_builds is None else {"budget_builds": budget_builds}
    flags |= {
        "budget_seconds": budget_seconds,
        "min_pred_gain": min_pred_gain,
        "min_gain": min_gain,
        "patience": patience,
        "ncu_every": ncu_every or None,
        "seed": seed,
    }
    settings = chosen.with_repairs(settings_from(flags, assignments or ()))
    print(chosen.describe(no_llm=no_llm), file=sys.stderr)
    told = "budget_builds" in settings.model_fields_set
    more = settings.budget_builds if resume and told else None
    wanted = Headless(
        input, outdir, tuple(root or ()), settings, resume, more, _names(gpus), chosen
    )
    raise typer.Exit(run(wanted))


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
    as_json: Annotated[bool, typer.Option("--json", help="The brief as JSON.")] = False,
) -> None:
    """Tables of what an outdir holds; a variant's source, diff and evaluation."""
    from .show import show_brief, show_handle

    if brief:
        show_brief(outdir, handle, brief, as_json)
    else:
        show_handle(outdir, handle)


@app.command()
def doctor() -> None:
    """What this machine has for building and timing kernels.

    Exit status: 0 host C++ kernels work, 1 they do not (then it says what to install).
    """
    from .doctor import probe_host
    from .tables import console, host_table

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

    raise typer.Exit(run_selftest(tier.value, only or (), json_file, _names(gpus)))


@app.command()
def spec(
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a spec.")
    ] = False,
    check: Annotated[
        Path | None, typer.Option(callback=file_there, metavar="FILE", help="A spec to check.")
    ] = None,
    infer: Annotated[
        Path | None,
        typer.Option(
            callback=file_there,
            metavar="SOURCE",
            help="A .cu, .cpp or .py file to print a spec for, with ? where you decide.",
        ),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="With --infer: the function, where there are several.")
    ] = None,
) -> None:
    """The format of a spec, every problem that one has, or a spec for a source file."""
    if schema + (check is not None) + (infer is not None) != 1:
        print("give one of --schema, --check FILE and --infer SOURCE", file=sys.stderr)
        raise typer.Exit(1)
    if infer is not None:
        _infer(infer, kernel)
        return
    if check is None:
        from ..runners.specs.spec import KernelSpec

        print(json.dumps(KernelSpec.model_json_schema(), indent=2))
        return
    from ..evaluation.spec_check import check_spec
    from ..runners.loading.files import Roots, load_file

    loaded = load_file(check, Roots([check.parent, Path.cwd()]))
    with tempfile.TemporaryDirectory(prefix="kernelwright-check-") as folder:
        check_spec(loaded, Path(folder))
    workloads = ", ".join(w.name for w in loaded.spec.workloads)
    print(f"{check}: ok, kernel {loaded.kernel_id} builds, workloads {workloads}")


def _infer(source: Path, kernel: str | None) -> None:
    from ..runners.loading.domains import with_domains
    from ..runners.loading.files import Roots, draft_of_file
    from ..runners.specs.text import written

    found = with_domains(draft_of_file(source, Roots([source.parent, Path.cwd()]), kernel))
    print(written(found.data))
    open_places = "fill in:" if found.undecided else "nothing is left to fill in"
    print(f"{source}: save this spec beside it; {open_places}", file=sys.stderr)
    for line in found.undecided:
        print(f"  {line}", file=sys.stderr)
    if symbols := ", ".join(found.data["symbols"]):
        domains = f"which sizes are legal ({symbols}): smallest, largest, `multiple_of`"
        print(f"and correct what is proposed in `symbols`, {domains}", file=sys.stderr)


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
    if http:
        from .http.addresses import read_address
        from .over_http import serve_http

        serve_http(state, roots, _names(gpus), read_address(http, allow_host or ()))
    else:
        from .app import serve_stdio

        serve_stdio(state, roots, _names(gpus))


def _names(gpus: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in gpus.split(",") if name.strip())
