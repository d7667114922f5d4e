"""A problem solved: cut, searched, written, each kernel tried against ATen, and scored."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....analysis.modules.lowering.cutting import Call, Cut, cut
from ....analysis.modules.scores import SideScore, better_without, right, side_scores
from ....runners.errors import KernelwrightError, SpecError, ToolchainMissing
from ....runners.model import Record
from ....runners.modules.common.graphs import ModuleGraph
from ....runners.modules.common.messages import ModuleJob, ModuleSource, PhaseFailed
from ....runners.modules.common.scores import Scored
from ....runners.modules.running import Found, require_torch, run_job
from ....runners.progress import report as tell
from ....runners.whole_files import write_whole
from ....search.session.optimize import Event, Failed, Finished, Opened, optimize
from ....search.session.workbench import Workbench
from ....search.settings import Settings
from ..models.asked import gpu_uuid
from .model_new import Winner, model_new
from .rules import Checked, checked
from .specs import CutSpec, write_specs
from .winners import winner_of

TIMEOUT_S = 1800.0
MOST_TRIED_ALONE = 8
FEWEST_BUILDS = 1
ALL = "all_kernels"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What somebody wants solved."""

    path: Path
    outdir: Path
    level: int = 1
    device: str = "auto"
    builds: int = 50
    seconds: float | None = None
    seed: int = 0
    compiled: bool = True
    """the ModelNew is timed beside torch.compile too"""
    gpus: tuple[str, ...] = ()
    settings: dict[str, Any] = field(default_factory=dict[str, Any])


class KernelOutcome(Record):
    """A kernel that was cut out of the problem."""

    entry: str
    writes: str
    operations: int
    builds: int
    """that its search might spend"""
    speedup: float | None = None
    """of its best variant over the plain kernel"""
    used: bool = False
    """it is in the ModelNew; else ATen computes it"""
    why: str = ""


class Solved(Record):
    """What came of a problem."""

    problem: str
    level: int
    device: str
    kernels: tuple[KernelOutcome, ...]
    left: dict[str, str]
    """operators that no kernel was cut for, by value, and why"""
    model_new: str
    errors: tuple[str, ...]
    """of KernelBench's static checker"""
    warnings: tuple[str, ...]
    trials: tuple[bool, ...]
    tolerance: float
    scores: tuple[SideScore, ...]
    not_compiled: str = ""

    @property
    def accepted(self) -> bool:
        """Right in every trial, and without an error of the checker."""
        return not self.errors and bool(self.trials) and all(self.trials)


def solve(problem: Problem, shown: Callable[[Event], None]) -> Solved:
    """Solve a problem; `shown` hears of its searches. Raises KernelwrightError."""
    require_torch()
    if shutil.which("ninja") is None:
        raise ToolchainMissing(
            "a ModelNew compiles its kernels by torch's load_inline, which needs ninja",
            next_step="pip install ninja",
        )
    problem.outdir.mkdir(parents=True, exist_ok=True)
    uuid = gpu_uuid(problem.device, problem.gpus, problem.outdir)
    found = _asked(problem, uuid, ("graph",))
    graph = found.one(ModuleGraph)
    if graph is None:
        failed = found.one(PhaseFailed)
        raise SpecError(failed.words if failed else "the module's graph was not told")
    parts = cut(graph)
    language = "cpp" if uuid is None else "cuda"
    specs = write_specs(parts, problem.path.stem, language, problem.outdir / "specs")
    winners, outcomes = _searched(problem, specs, shown)
    return _written(problem, uuid, graph, parts, winners, outcomes)


def _searched(
    problem: Problem, specs: Sequence[CutSpec], shown: Callable[[Event], None]
) -> tuple[dict[str, Winner], list[KernelOutcome]]:
    """The winner of every kernel whose baseline is right; builds are shared by operations."""
    winners, outcomes = dict[str, Winner](), list[KernelOutcome]()
    roots = [problem.outdir / "specs"]
    whole = sum(each.operations for each in specs if each.worth_a_search) or 1
    with Workbench(problem.outdir, roots, problem.gpus) as bench:
        for each in specs:
            share = each.operations / whole if each.worth_a_search else 0.0
            builds = max(FEWEST_BUILDS, round(problem.builds * share))
            settings = Settings.model_validate(
                {
                    **problem.settings,
                    "budget_builds": builds,
                    "budget_seconds": None if problem.seconds is None
                    else max(1.0, problem.seconds * share),
                    "seed": problem.seed,
                }
            )  # fmt: skip
            outcome = KernelOutcome(
                entry=each.written.entry,
                writes=each.kernel.name,
                operations=each.operations,
                builds=builds if each.worth_a_search else 0,
            )
            found = _one(bench, each, settings, shown)
            if isinstance(found, str):
                outcomes.append(outcome.model_copy(update={"why": found}))
                continue
            winners[each.kernel.name], gain = found
            outcomes.append(outcome.model_copy(update={"speedup": gain, "used": True}))
    return winners, outcomes


def _one(
    bench: Workbench, made: CutSpec, settings: Settings, shown: Callable[[Event], None]
) -> tuple[Winner, float] | str:
    """The winner of a kernel, or why there is none."""
    opened: Opened | None = None
    with closing(optimize(bench, [made.spec], settings)) as events:
        for event in events:
            shown(event)
            if isinstance(event, Failed):
                return str(event.error.message)
            if isinstance(event, Opened):
                opened = event
                if not made.worth_a_search:
                    break
            if isinstance(event, Finished):
                return winner_of(bench, event.kernel, made)
    assert opened is not None
    return winner_of(bench, opened.kernel, made)


def _written(
    problem: Problem,
    uuid: str | None,
    graph: ModuleGraph,
    parts: Cut,
    winners: dict[str, Winner],
    outcomes: Sequence[KernelOutcome],
) -> Solved:
    """The ModelNew with those kernels that are faster than ATen where they are, and its score."""
    text = problem.path.read_text(encoding="utf-8")
    title = f"ModelNew of {problem.path.name}, made by `kernelwright kernelbench`."

    def file(stem: str, without: Sequence[str]) -> Path:
        made = model_new(text, title, graph, parts, winners, without)
        return write_whole(problem.outdir / f"{stem}.py", made)

    tried = _tried_alone(winners, outcomes)
    files = {ALL: file(ALL, ())} | {f"without_{n}": file(f"without_{n}", [n]) for n in tried}
    if not winners:
        files = {}
    left = list[str]()
    if files:
        tell(f"{len(files)} ModelNews, each with another kernel left to ATen")
        first = _scored(problem, uuid, list(files.values()), compiled=False)
        names = better_without(first, ALL, [name for name in files if name != ALL])
        left = [name.removeprefix("without_") for name in names]
        if not right(first, ALL):
            wrong = next((t.failed for t in first.trials[ALL] if t.failed), "its outputs differ")
            raise KernelwrightError(
                f"the kernels are right one by one, and the ModelNew of all is not: {wrong}",
                next_step=f"report this, with {files[ALL]}",
            )
    final = file("model_new", left)
    for each in files.values():
        each.unlink()
    tell("the ModelNew is scored")
    told = _scored(problem, uuid, [final], compiled=problem.compiled)
    words = checked(final.read_text(encoding="utf-8"), cuda=uuid is not None)
    solved = _solved(problem, uuid, parts, outcomes, left, final, told, words)
    write_whole(problem.outdir / "report.json", solved.model_dump_json(indent=1) + "\n")
    return solved


def _tried_alone(winners: dict[str, Winner], outcomes: Sequence[KernelOutcome]) -> list[str]:
    """Those that take longest: each is left out once."""
    there = [each for each in outcomes if each.writes in winners]
    there.sort(key=lambda each: -each.operations)
    return [each.writes for each in there[:MOST_TRIED_ALONE]]


def _solved(
    problem: Problem,
    uuid: str | None,
    parts: Cut,
    outcomes: Sequence[KernelOutcome],
    left: Sequence[str],
    final: Path,
    told: Scored,
    words: Checked,
) -> Solved:
    return Solved(
        problem=problem.path.name,
        level=problem.level,
        device=uuid or "cpu",
        kernels=tuple(
            each.model_copy(update={"used": False, "why": "ATen is faster here"})
            if each.writes in left
            else each
            for each in outcomes
        ),
        left={step.name: step.why for step in parts.steps if isinstance(step, Call)},
        model_new=str(final),
        errors=words.errors,
        warnings=words.warnings,
        trials=tuple(each.close for each in told.trials.get(final.stem, ())),
        tolerance=told.tolerance,
        scores=side_scores(told, final.stem),
        not_compiled=told.not_compiled,
    )


def _scored(
    problem: Problem, uuid: str | None, rivals: Sequence[Path], *, compiled: bool
) -> Scored:
    found = _asked(problem, uuid, ("score",), rivals, (("compile",),) if compiled else ())
    scored = found.one(Scored)
    if scored is None:
        failed = found.one(PhaseFailed)
        told = failed.words if failed else " ".join(found.lost) or "no score was told"
        raise KernelwrightError(f"the ModelNew cannot be scored: {told}")
    return scored


def _asked(
    problem: Problem,
    uuid: str | None,
    phases: tuple[str, ...],
    rivals: Sequence[Path] = (),
    rungs: tuple[tuple[str, ...], ...] = (),
) -> Found:
    """What the process of a module says, its files gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="kernelwright-module-"))
    path = problem.path.resolve()
    try:
        job = ModuleJob(
            source=ModuleSource(path=str(path)),
            device="cpu" if uuid is None else "cuda",
            phases=phases,
            training=True,
            rungs=rungs,
            rivals=tuple(str(each.resolve()) for each in rivals),
            scratch=str(folder),
            readable=(str(path.parent), *(str(each.resolve()) for each in rivals)),
        )
        return run_job(job, uuid=uuid, timeout_s=TIMEOUT_S)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
