"""A problem solved: cut, searched, written, each kernel tried against ATen, and scored."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

from ....analysis.modules.lowering.cutting import Call, Cut, cut
from ....analysis.modules.lowering.libraries import AS_IT_LIES
from ....analysis.modules.scores import better_without, right, side_scores
from ....runners.errors import KernelwrightError, SpecError, ToolchainMissing
from ....runners.modules.common.graphs import ModuleGraph
from ....runners.modules.common.messages import PhaseFailed
from ....runners.modules.common.scores import Scored
from ....runners.modules.running import require_torch
from ....runners.progress import report as tell
from ....runners.whole_files import write_whole
from ....search.session.optimize import Event, Failed, Finished, Opened, optimize
from ....search.session.workbench import Workbench
from ....search.settings import Settings
from ..models.asked import gpu_uuid
from .model_new import Winner, model_new
from .problem import KernelOutcome, Problem, Solved
from .rules import Checked, checked
from .scoring import asked, scored
from .specs import CutSpec, write_specs
from .winners import winner_of

MOST_TRIED_ALONE = 8
FEWEST_BUILDS = 1
NO_TIME = "no time was left to open it"
NEW = "model_new"
MOST_BYTES = 1 << 30
"""of a kernel's arrays: its truth is computed on the host in twice as many, time and again"""


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
    found = asked(problem, uuid, ("graph",))
    graph = found.one(ModuleGraph)
    if graph is None:
        failed = found.one(PhaseFailed)
        raise SpecError(failed.words if failed else "the module's graph was not told")
    parts = cut(graph, libraries=True)
    language = "cpp" if uuid is None else "cuda"
    specs = write_specs(parts, problem.path.stem, language, problem.outdir / "specs")
    winners, outcomes = _searched(problem, specs, shown)
    return _written(problem, uuid, graph, parts, winners, outcomes)


def _searched(
    problem: Problem, specs: Sequence[CutSpec], shown: Callable[[Event], None]
) -> tuple[dict[str, Winner], list[KernelOutcome]]:
    """The winner of every kernel whose baseline is right; builds are shared by operations."""
    winners, outcomes = dict[str, Winner](), list[KernelOutcome]()
    large = [_outcome(e, 0, why) for e in specs if (why := _too_large(e))]
    opened = [each for each in specs if not _too_large(each)]
    if not opened:
        return winners, large
    opened.sort(key=lambda each: -each.operations)
    whole = sum(each.operations for each in opened if each.worth_a_search) or 1
    end = math.inf if problem.within_s is None else time.monotonic() + problem.within_s
    with Workbench(problem.outdir, [problem.outdir / "specs"], problem.gpus) as bench:
        for each in opened:
            if time.monotonic() > end:
                outcomes.append(_outcome(each, 0, NO_TIME))
                continue
            share = each.operations / whole if each.worth_a_search else 0.0
            builds = max(FEWEST_BUILDS, round(problem.builds * share))
            found = _one(bench, each, _settings(problem, builds, share), shown)
            outcome = _outcome(each, builds if each.worth_a_search else 0)
            if isinstance(found, str):
                outcomes.append(outcome.model_copy(update={"why": found}))
                continue
            winners[each.kernel.name], gain = found
            outcomes.append(outcome.model_copy(update={"speedup": gain, "used": True}))
    return winners, outcomes + large


def _outcome(made: CutSpec, builds: int, why: str = "") -> KernelOutcome:
    return KernelOutcome(
        entry=made.written.entry,
        writes=made.kernel.name,
        operations=made.operations,
        builds=builds,
        why=why,
    )


def _settings(problem: Problem, builds: int, share: float) -> Settings:
    seconds = None if problem.seconds is None else max(1.0, problem.seconds * share)
    budget = {"budget_builds": builds, "budget_seconds": seconds, "seed": problem.seed}
    return Settings.model_validate({**problem.settings, **budget})


def _too_large(made: CutSpec) -> str:
    """Why a kernel is not opened at all; empty: it is."""
    if made.held <= MOST_BYTES:
        return ""
    return (
        f"its arrays hold {made.held / 2**30:.1f} GiB, over the {MOST_BYTES >> 30} GiB up to which "
        "a truth in float64 is computed on the host"
    )


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

    final = file(NEW, ())
    if not winners:
        return _unchanged(problem, uuid, parts, outcomes, final)
    tried = _tried_alone(winners, outcomes)
    files = {NEW: final} | {f"without_{name}": file(f"without_{name}", [name]) for name in tried}
    tell(f"{len(files)} ModelNews are scored, each but one with a kernel left to ATen")
    told = scored(problem, uuid, list(files.values()), compiled=problem.compiled)
    for name in files.keys() - {NEW}:
        files[name].unlink()
    if not right(told, NEW):
        wrong = next((t.failed for t in told.trials[NEW] if t.failed), "its outputs differ")
        raise KernelwrightError(
            f"the kernels are right one by one, and the ModelNew of all is not: {wrong}",
            next_step=f"report this, with {final}",
        )
    names = better_without(told, NEW, [name for name in files if name != NEW])
    left = [name.removeprefix("without_") for name in names]
    if left:
        final = file(NEW, left)
        tell("the ModelNew without them is scored anew")
        told = scored(problem, uuid, [final], compiled=problem.compiled)
    words = checked(final.read_text(encoding="utf-8"), cuda=uuid is not None)
    solved = _solved(problem, uuid, parts, outcomes, left, final, told, words)
    write_whole(problem.outdir / "report.json", solved.model_dump_json(indent=1) + "\n")
    return solved


def _unchanged(
    problem: Problem,
    uuid: str | None,
    parts: Cut,
    outcomes: Sequence[KernelOutcome],
    final: Path,
) -> Solved:
    """Of a problem that no kernel was written for: the Model's own calls, and no score."""
    whys = [each.why for each in outcomes] or [
        why for step in parts.steps if isinstance(step, Call) and (why := step.why) != AS_IT_LIES
    ]
    solved = Solved(
        problem=problem.path.name,
        level=problem.level,
        device=uuid or "cpu",
        kernels=tuple(outcomes),
        left={step.name: step.why for step in parts.steps if isinstance(step, Call)},
        model_new=str(final),
        errors=(),
        warnings=(),
        trials=(),
        tolerance=0.0,
        scores=(),
        nothing="; ".join(dict.fromkeys(whys)) or "it computes nothing",
    )
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
