"""The verb `time_variant`: the gates, then the paired comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runners.errors import SpecError
from ..runners.model import Comparison, Ending, Evaluation, Ratio, Record
from ..runners.wording import cut, significant
from .base import Tool, WorkArguments
from .parts.calls import call
from .parts.describing import (
    FailedGate,
    WorkloadSpeed,
    advice,
    failed_gate,
    interval_of,
    resolve_variant,
    workload_speeds,
)
from .parts.kernel_best import KernelBest, kernel_best

if TYPE_CHECKING:
    from ..search.session.workbench import Workbench
    from ..store.records import KernelRecord


class TimeVariantArguments(WorkArguments):
    """Which variant, against which other."""

    variant_id: str
    against: str = "baseline"
    """baseline, incumbent, or a variant_id; the verdict over the baseline is always given"""


class Against(Record):
    """The comparison with the side that was asked for."""

    variant_id: str
    speedup: float
    interval: tuple[float, float]
    judgement: str


class TimedVariant(Record):
    """How the evaluation ended."""

    variant_id: str
    ending: Ending
    tier: str
    message: str
    speedup: float | None = None
    """over the baseline"""
    interval: tuple[float, float] | None = None
    """95 % interval of the speedup"""
    resolution: float | None = None
    """a difference below this is not told from noise on this machine (0.02 = 2 %)"""
    against: Against | None = None
    failed: FailedGate | None = None
    workloads: tuple[WorkloadSpeed, ...] = ()
    became_incumbent: bool = False
    """it took the place of the kernel's incumbent; `incumbent` says who has it now"""
    incumbent: str
    """the kernel's best, by paired comparison"""
    incumbent_speedup: float
    """over the baseline"""
    known: bool
    """evaluated before: the stored verdict is given"""
    same_code_as: str | None = None
    seconds: dict[str, float]
    advice: str
    next: tuple[str, ...] = ()
    """calls that can be made as they stand"""


def time_variant(bench: Workbench, arguments: TimeVariantArguments) -> TimedVariant:
    """Check a built variant and time it in a paired, interleaved comparison; give the verdict.

    Checks come first: poisoned outputs, guard bands, inputs unchanged, two secret seeds, an odd
    shape. Only what passes is timed. The ending is one of faster slower tie unstable, or wrong
    unsafe cheated timed_out launch_failed build_failed rejected lost. A `faster` one that gains
    at least 1 % on the incumbent becomes incumbent, if it also holds in a fresh process, on other
    legal shapes and on unkind values. No variant is paid for twice. A GPU kernel needs its GPU.
    Takes 1 to 30 s. Variants come from compile_variant; a search does this itself.
    Example: {"variant_id": "v0123456789ab", "against": "incumbent"}
    """
    from ..search.session.by_hand import remember_by_hand

    record = bench.evaluator.variant(arguments.variant_id)
    kernel = bench.evaluator.kernel(record.variant.kernel_id)
    target = resolve_variant(bench, kernel, arguments.against).variant.variant_id
    before = bench.evaluator.evaluation(arguments.variant_id)
    evaluation = bench.evaluator.evaluate(record)
    against = None
    if evaluation.ending.measured and target != arguments.variant_id:
        against = _against(bench, kernel, evaluation, target)
    elif evaluation.ending.measured and arguments.against not in ("baseline", "incumbent"):
        raise SpecError(f"`{target}` against itself", valid="another variant, or baseline")
    bench.files.write(kernel.kernel_id)
    known = before is not None and before.evaluation_id == evaluation.evaluation_id
    if not known:
        remember_by_hand(bench, record, evaluation)
    best = kernel_best(bench, kernel.kernel_id)
    return _told(kernel, evaluation, against, known, best)


def _against(
    bench: Workbench, kernel: KernelRecord, evaluation: Evaluation, target: str
) -> Against | None:
    """The ratio over the target: from the evaluation itself, or measured now."""
    comparison = evaluation.comparison
    ratio = None if comparison is None else comparison.over(target)
    if ratio is None:
        other = bench.evaluator.evaluation(target)
        if other is None or not other.ending.measured:
            ended = "was not evaluated" if other is None else f"ended as `{other.ending}`"
            raise SpecError(
                f"`{target}` {ended}: there is nothing to compare with",
                valid="baseline, incumbent, or a variant that was timed",
                next_step=f'call time_variant with variant_id "{target}" first',
            )
        ratio = _measured(bench, evaluation.variant_id, target)
    return None if ratio is None else _against_of(ratio)


def _measured(bench: Workbench, variant_id: str, target: str) -> Ratio | None:
    found: Comparison | None = bench.evaluator.compare(variant_id, [target]).comparison
    return None if found is None else found.over(target)


def _against_of(ratio: Ratio) -> Against:
    return Against(
        variant_id=ratio.over,
        speedup=significant(ratio.speedup),
        interval=(significant(ratio.low), significant(ratio.high)),
        judgement=ratio.judgement,
    )


def _told(
    kernel: KernelRecord,
    evaluation: Evaluation,
    against: Against | None,
    known: bool,
    best: KernelBest,
) -> TimedVariant:
    comparison = evaluation.comparison
    return TimedVariant(
        variant_id=evaluation.variant_id,
        ending=evaluation.ending,
        tier=evaluation.tier,
        message=cut(evaluation.message),
        speedup=None if evaluation.speedup is None else significant(evaluation.speedup),
        interval=interval_of(evaluation),
        resolution=None if comparison is None else significant(comparison.resolution, 2),
        against=against,
        failed=failed_gate(evaluation.gates),
        workloads=() if comparison is None else workload_speeds(comparison, kernel.baseline),
        became_incumbent=evaluation.became_incumbent,
        incumbent=best.incumbent,
        incumbent_speedup=best.speedup,
        known=known,
        same_code_as=evaluation.same_code_as,
        seconds=evaluation.seconds,
        advice=advice(evaluation.ending, evaluation.gates),
        next=_next(kernel, evaluation, best),
    )


def _next(kernel: KernelRecord, evaluation: Evaluation, best: KernelBest) -> tuple[str, ...]:
    variant_id = evaluation.variant_id
    if not evaluation.ending.final:
        return (call("time_variant", variant_id=variant_id),)
    going_on = call("propose_moves", kernel_id=kernel.kernel_id)
    if best.incumbent != variant_id or best.incumbent == kernel.baseline:
        return (going_on,)
    return going_on, call("export_variant", variant_id=variant_id)


TOOL = Tool(
    name="time_variant",
    title="Check and time a variant",
    run=time_variant,
    arguments=TimeVariantArguments,
    result=TimedVariant,
    search_hint="benchmark, measure, time, check correctness of a variant; is it faster",
    read_only=False,
    work=True,
)
