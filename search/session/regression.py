"""Two sources of one kernel timed side by side: has the later one become slower?

The earlier source is the baseline, the later one its only candidate, so it goes through the same
gates and the same paired comparison as any variant, and what is told is measured anew in fresh
processes, as a winner's gain is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ...evaluation.bench import Bench
from ...runners.loading.files import LoadedKernel
from ...runners.model import Evaluation, Ratio
from ...runners.wording import cut, speedup_text
from ...store.records import Confirmation, VariantRecord


class Verdict(StrEnum):
    """What became of the kernel."""

    same_code = "same code"
    not_slower = "not slower"
    slower = "slower"
    open = "open"
    """the machine was too noisy to say"""
    failed = "failed"
    """it does not build, or is not right"""


@dataclass(frozen=True)
class Judged:
    """The later source against the earlier one. `confirmation`: None where it came to none."""

    verdict: Verdict
    evaluation: Evaluation
    confirmation: Confirmation | None

    def told(self) -> str:
        """The verdict and what it rests on, a line each."""
        found, lines = self.confirmation, [f"verdict: {self.verdict}"]
        if found is None:
            return "\n".join([*lines, cut(self.evaluation.message, 600)])
        for name, comparison in (("visible", found.visible), ("held-out", found.held_out)):
            if comparison is not None:
                ratio = comparison.ratios[0]
                told = speedup_text(ratio.speedup, (ratio.low, ratio.high))
                judged = f"{ratio.judgement}{ratio.placement_words}"
                lines.append(f"{name} workloads: {told} the earlier source, {judged}")
        return "\n".join(lines if found.right else [*lines, cut(found.message, 600)])


def regression(
    bench: Bench, later: LoadedKernel, earlier_source: str, allowed: float = 0.0
) -> Judged:
    """Time the source of `later` against an earlier one, under the spec of `later`.

    `allowed`: a loss that is accepted (0.05 = 5 %); `slower` is said where the whole interval lies
    below 1 less that. Raises what `Evaluator.open` and `Evaluator.evaluate` raise: BaselineRefused
    where the earlier source itself is not right.
    """
    earlier = later.model_copy(update={"source": earlier_source})
    kernel = bench.evaluator.open(earlier)
    variant = later.baseline().model_copy(update={"kernel_id": kernel.kernel_id})
    record = VariantRecord(variant=variant, parent=kernel.baseline, method="later source")
    evaluation = bench.evaluator.evaluate(record, min_gain=None)
    if kernel.baseline in (variant.variant_id, evaluation.same_code_as):
        return Judged(Verdict.same_code, evaluation, None)
    if not evaluation.ending.measured:
        return Judged(Verdict.failed, evaluation, None)
    found = bench.evaluator.confirm(variant.variant_id)
    return Judged(verdict_of(found, allowed), evaluation, found)


def verdict_of(found: Confirmation, allowed: float) -> Verdict:
    """By the worst of the visible and the held-out workloads."""
    if not found.right:
        return Verdict.failed
    ratios = [c.ratios[0] for c in (found.visible, found.held_out) if c is not None]
    if any(_is_slower(ratio, allowed) for ratio in ratios):
        return Verdict.slower
    undecided = any(ratio.judgement == "unstable" for ratio in ratios)
    return Verdict.open if undecided else Verdict.not_slower


def _is_slower(ratio: Ratio, allowed: float) -> bool:
    return ratio.judgement == "slower" and ratio.judged[1] < 1 - allowed
