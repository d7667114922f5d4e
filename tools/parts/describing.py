"""What several verbs say of kernels and variants, in the same words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...runners.errors import SpecError
from ...runners.model import Comparison, Ending, Evaluation, GateResult, KernelFacts, Record
from ...runners.wording import cut, significant, unwritten
from ...store.evaluations import figure_of

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...runners.specs.spec import Workload
    from ...store.records import Figure, KernelRecord, VariantRecord

GATE_CHARS = 200


class WorkloadSpeed(Record):
    """Median times of one workload; over more than one, speedups count by weight."""

    workload: str
    ms: float
    baseline_ms: float | None = None
    speedup: float | None = None


class FailedGate(Record):
    """The check that decided the ending, with what it saw."""

    gate: str
    message: str
    shape: str | None = None
    worst_index: tuple[int, ...] | None = None
    """where the output is farthest from what is right"""
    output: str | None = None


def visible_kernels(
    kernels: Sequence[KernelFacts], workloads: Sequence[Workload]
) -> tuple[KernelFacts, ...]:
    """GPU kernels without the shapes that are held out, and without those for such shapes alone."""
    hidden = {w.name for w in workloads if w.held_out}
    kept = ((k, tuple(s for s in k.shapes if s not in hidden)) for k in kernels)
    return tuple(
        k.model_copy(update={"shapes": shown}) for k, shown in kept if shown or not k.shapes
    )


def workload_speeds(comparison: Comparison, baseline: str) -> tuple[WorkloadSpeed, ...]:
    """Time and speedup by workload."""
    found = list[WorkloadSpeed]()
    for each in comparison.workloads:
        ms, before = each.median_ms[comparison.candidate], each.median_ms.get(baseline)
        speedup = None if before is None else significant(before / ms)
        found.append(
            WorkloadSpeed(
                workload=each.workload,
                ms=significant(ms, 4),
                baseline_ms=None if before is None else significant(before, 4),
                speedup=speedup,
            )
        )
    return tuple(found)


def failed_gate(gates: tuple[GateResult, ...]) -> FailedGate | None:
    """The gate that failed, None when all were passed."""
    failed = next((g for g in gates if g.outcome == "failed"), None)
    if failed is None:
        return None
    seen = failed.evidence
    worst = seen.get("worst_index")
    return FailedGate(
        gate=failed.gate,
        message=cut(failed.message),
        shape=seen.get("shape"),
        worst_index=None if worst is None else tuple(worst),
        output=seen.get("output"),
    )


def gates_in_short(gates: Sequence[GateResult]) -> dict[str, str]:
    """Every gate with its outcome, and what it said unless it was passed; no evidence."""
    return {
        g.gate: g.outcome
        if g.outcome == "passed" or not g.message
        else f"{g.outcome}: {cut(g.message, GATE_CHARS)}"
        for g in gates
    }


def resolve_variant(bench: Bench, kernel: KernelRecord, name: str) -> VariantRecord:
    """A variant by id, `baseline` or `incumbent`. Raises HandleUnknown, SpecError."""
    variant_id = {"baseline": kernel.baseline, "incumbent": kernel.incumbent}.get(name, name)
    record = bench.evaluator.variant(variant_id)
    if record.variant.kernel_id != kernel.kernel_id:
        raise SpecError(
            f"variant `{variant_id}` belongs to kernel {record.variant.kernel_id}",
            valid=f"baseline, incumbent or a variant of {kernel.kernel_id}",
        )
    return record


def speedup_of(bench: Bench, variant_id: str) -> float | None:
    """The speedup over the baseline: as it was confirmed, else as last measured."""
    speedup = figure_of(bench.store, variant_id).speedup
    return None if speedup is None else significant(speedup)


def interval_of(told: Evaluation | Figure) -> tuple[float, float] | None:
    """The 95 % interval of the speedup over the baseline."""
    if told.interval is None:
        return None
    return significant(told.interval[0]), significant(told.interval[1])


def advice(ending: Ending, gates: Sequence[GateResult] = ()) -> str:
    """What to do next: by the gate that failed where that says more than the ending."""
    failed = next((gate for gate in gates if gate.outcome == "failed"), None)
    if failed is None:
        return ADVICE[ending]
    found = BY_GATE.get(failed.gate.partition("_")[0]) or BY_GATE.get(failed.gate)
    return (found or ADVICE[ending]) + unwritten(failed.message)


ADVICE: dict[Ending, str] = {
    Ending.build_failed: "correct what the compiler names and call compile_variant again",
    Ending.rejected: "change or leave out what the message names; a kernel computes and does "
    "nothing else",
    Ending.launch_failed: "it crashed: look for bad addresses and traps, then compile_variant",
    Ending.timed_out: "it did not come back: look for a loop that never ends",
    Ending.wrong: "compare the computation at worst_index with the reference; try the tails of "
    "loops first, since shapes that divide evenly hide their errors",
    Ending.unsafe: "it wrote where it must not: check the bounds of the last tile or block",
    Ending.cheated: "every call must do all of its work anew, whether it is checked or timed",
    Ending.unstable: "the machine was too noisy for a verdict: call time_variant again",
    Ending.lost: "a process of ours failed, nothing is known of the variant: call it again",
    Ending.slower: "propose_moves names other things to try; compile_variant starts from the "
    "incumbent unless told otherwise",
    Ending.tie: "no difference that can be told from noise; propose_moves names other things",
    Ending.faster: "go on from it (propose_moves), or export_variant when you are done",
}

BY_GATE: dict[str, str] = {
    "leaves_inputs_alone": "it changed an input: write to outputs and scratch only",
    "is_right_while_timed": "right when checked and wrong when timed: every call must do all of "
    "its work anew, and be done when it returns",
    "obeys_physics": "no hardware does the declared work in that time: it leaves out a part, or "
    "the spec's `bytes` and `flops` are too large",
    "is_deterministic": "look for atomics or threads that add up in any order, races, and memory "
    "that is read before it is written; if other bits are fine, the spec may say "
    "`deterministic: false`",
    "works_in_a_fresh_process": "it fails on values and in a process that it has not met: keep "
    "nothing from call to call, and read no memory that was not written before",
    "computes_anew": "called again on the same buffers, with a few values exchanged, it is wrong: "
    "keep nothing from call to call",
    "computes_every_call": "every call must do its own work, when it is called: copy nothing that "
    "another computed, and look at no buffer but those it was given",
    "works_on_other_shapes": "it must hold for all sizes that the spec's `symbols` allow: look at "
    "tails, sizes of 1 and narrow indices, at the shape that the message names; if such sizes "
    "never occur, the spec may say so",
    "survives_stress": "it must be about as exact as the baseline on the values that the message "
    "names: keep what guards against overflow, cancellation and division by zero",
    "works_on_other_values": "read every input, all of it, whatever the spec's init fills it with: "
    "only an init with `constant: true` and a reason may be taken as known",
    "works_on_other_values_while_timed": "compute the same however often, and beside however many "
    "other buffers, it is called: read every input in every call",
    "sanitizer": "compute-sanitizer names kernel and line: a race wants a barrier, an access out "
    "of bounds a mask, uninitialised memory a store before the load",
}
"""By gate; `sanitizer` stands for its four tools."""
