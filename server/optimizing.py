"""`kernelwright optimize`: its options, and what they mean for a run."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..runners.collecting import nothing_collected
from .options.files import MarkdownFile
from .options.gpus import BusyGpuChoice, BusyGpus, GpuNames, gpu_names
from .options.paths import folder_there, there

Outdir = Annotated[Path, typer.Option(help="Folder of the state and of the exported files.")]


class HeadlessPlanner(StrEnum):
    """Who may plan for `optimize`."""

    rules = "rules"
    anthropic = "anthropic"
    command = "command"
    mixed = "mixed"


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
        HeadlessPlanner | None,
        typer.Option(
            show_default="rules; with --resume, as before",
            help="Who proposes: rules, a model (anthropic), a program (command), or rules until "
            "they stop paying and then the program of --command, else the model (mixed).",
        ),
    ] = None,
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
    weights: Annotated[
        Path | None,
        typer.Option(
            callback=there,
            help="JSON with a weight for each kernel by its name, over those of the specs. Of "
            "several kernels the one whose weight times share of time above the floor is largest "
            "is searched first.",
        ),
    ] = None,
    gpus: GpuNames = "",
    busy_gpu: BusyGpus = BusyGpuChoice.go_on,
    export_markdown: MarkdownFile = None,
) -> None:
    """Search for a faster variant of one kernel or several, without a client: by rules, or with a
    model or a program that plans (docs/planners.md).

    Exit status: 0 a faster variant was confirmed, 2 nothing gained, 1 every spec failed, 3 some of
    several did (0 and 2 are of a run without failures),
    130 or 143 stopped by Ctrl-C or SIGTERM (go on with --resume).
    """
    with nothing_collected():
        from .headless import Headless, run
        from .options.assignments import settings_from
        from .planning.options import PlannerOptions
        from .planning.resuming import with_kept
        from .show import write_markdown

    chosen = PlannerOptions(
        None if no_llm or planner in (None, HeadlessPlanner.rules) else planner.value,
        model,
        command,
        budget_usd,
        budget_tokens,
        tuple(planner_assignments or ()),
    )
    if resume:
        chosen = with_kept(chosen, outdir, named=no_llm or planner is not None)
    flags = {} if budget_builds is None else {"budget_builds": budget_builds}
    flags |= {
        "budget_seconds": budget_seconds,
        "min_pred_gain": min_pred_gain,
        "min_gain": min_gain,
        "patience": patience,
        "ncu_every": ncu_every or None,
        "busy_gpu": busy_gpu.name,
        "seed": seed,
    }
    settings = chosen.with_repairs(settings_from(flags, assignments or ()))
    print(chosen.describe(no_llm=no_llm), file=sys.stderr)
    told = "budget_builds" in settings.model_fields_set
    more = settings.budget_builds if resume and told else None
    wanted = Headless(
        input, outdir, tuple(root or ()), settings, resume, more, gpu_names(gpus), chosen, weights
    )
    status = run(wanted)
    if export_markdown is not None:
        write_markdown(outdir, export_markdown)
    raise typer.Exit(status)
