"""`kernelwright kernelbench PROBLEM.py`: a ModelNew for a problem in KernelBench's form."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options.gpus import GpuNames, gpu_names
from .options.paths import file_there

if TYPE_CHECKING:
    from ..tools.parts.kernelbench.problem import Solved

NOTHING_GAINED = 2


def kernelbench(
    problem: Annotated[
        Path,
        typer.Argument(
            callback=file_there, help="A file with Model, get_inputs and get_init_inputs."
        ),
    ],
    outdir: Annotated[
        Path, typer.Option(file_okay=False, help="Folder of specs, state and ModelNew.")
    ] = Path("out"),
    level: Annotated[
        int, typer.Option(min=1, max=4, help="The problem's level, for the report.")
    ] = 1,
    budget_builds: Annotated[
        int, typer.Option(min=1, help="Builds of all kernels together, shared by their work.")
    ] = 50,
    budget_seconds: Annotated[
        float | None, typer.Option(min=1.0, help="Seconds of all searches together.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Decides between equal choices.")] = 0,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto: the GPU where one is.")] = "auto",
    compiled: Annotated[
        bool, typer.Option(help="Time the ModelNew beside torch.compile too.")
    ] = True,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the searches."),
    ] = None,
    gpus: GpuNames = "",
) -> None:
    """Cut a problem into kernels, make them faster, and write a ModelNew that is scored by
    KernelBench's rules and by ours.

    Kernels are CUDA's on a GPU and host C++ on a CPU, which their harness does not have. Exit
    status: 0 the ModelNew is right and faster than eager for sure, 2 it is not faster or has no
    kernel of ours, 1 it failed.
    """
    from ..runners.progress import listening
    from ..tools.parts.kernelbench.problem import Problem
    from ..tools.parts.kernelbench.solving import solve
    from .live import display
    from .options.assignments import settings_from

    wanted = Problem(
        path=problem,
        outdir=outdir.absolute(),
        level=level,
        device=device,
        builds=budget_builds,
        seconds=budget_seconds,
        seed=seed,
        compiled=compiled,
        gpus=gpu_names(gpus),
        settings=settings_from({}, assignments or ()).model_dump(exclude_unset=True),
    )
    shown = display()
    try:
        with listening(shown):
            found = solve(wanted, shown.show)
    finally:
        shown.close()
    print(told(found))
    if found.nothing:
        raise typer.Exit(NOTHING_GAINED)
    if not found.accepted:
        raise typer.Exit(1)
    eager = next((each for each in found.scores if each.beside == "eager"), None)
    faster = eager is not None and eager.ours.judgement == "faster"
    raise typer.Exit(0 if faster else NOTHING_GAINED)


def told(found: Solved) -> str:
    """What came of a problem, in lines."""
    lines = [f"{found.problem}, level {found.level}, on {found.device}"]
    for each in found.kernels:
        gain = "" if each.speedup is None else f", {each.speedup:.3g}x the plain kernel"
        use = "used" if each.used else f"left to ATen: {each.why}"
        lines.append(f"  {each.entry} writes {each.writes} ({each.builds} builds){gain}: {use}")
    lines += [f"  {name} is ATen's: {why}" for name, why in found.left.items()]
    if found.nothing:
        lines.append(f"no kernel of ours is in it: {found.nothing}")
        return "\n".join([*lines, f"written: {found.model_new}"])
    passed = sum(found.trials)
    lines.append(
        f"correct in {passed} of {len(found.trials)} trials (atol and rtol {found.tolerance:g}); "
        f"static checker: {', '.join(found.errors) or 'no error'}"
        + (f"; warnings: {', '.join(found.warnings)}" if found.warnings else "")
    )
    lines.append("beside         their rules   ours, 95 % interval")
    for each in found.scores:
        s = each.ours
        interval = f"{s.speedup:.3g}x ({s.low:.3g} to {s.high:.3g}) {s.judgement}"
        lines.append(f"{each.beside:14} {each.theirs:>9.3g}x   {interval}")
    if found.not_compiled:
        lines.append(f"torch.compile does not run it: {found.not_compiled}")
    lines.append(f"written: {found.model_new}")
    return "\n".join(lines)
