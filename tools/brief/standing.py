"""Where a variant stands, as blocks of a brief: how it came about, ended, and what it changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ...evaluation.difference import changed_between, source_diff
from ...runners.model import Evaluation, KernelFacts, ordered
from ...runners.wording import speedup_text
from ...search.planning.brief import code_block, tokens_of
from ...store.variants import known_artifact
from ..parts.build_line import flags_for
from ..parts.describing import advice, failed_gate
from ..parts.own_launch import own_launch

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...store.records import KernelRecord, VariantRecord


def standing_blocks(bench: Bench, kernel: KernelRecord, record: VariantRecord) -> list[str]:
    """Values, options and speedup, then the way here from the baseline."""
    variant = record.variant
    values = ordered(variant.parameters)
    flags = flags_for(kernel.loaded, variant, "", {})
    told = [
        f"- parameters: {values or 'none of its own; the defaults count'}",
        f"- compiler: {variant.options.compiler or 'the default'}, flags "
        f"{' '.join(flags) or 'the default'}",
        f"- speedup over the baseline: {_speedup(bench, kernel, record)}",
    ]
    launch = own_launch(kernel.loaded, variant)
    if launch is not None:
        told.append(f"- launched not as the spec says, but by its plan: {json.dumps(launch)}")
    steps = [
        f"{each.method} ({_ended(bench, each.variant.variant_id)})"
        for each in lineage(bench, record)
        if each.parent is not None
    ]
    return told + [f"- came about by {' then '.join(steps)}"] * bool(steps)


def lineage(bench: Bench, record: VariantRecord) -> list[VariantRecord]:
    """A variant and what it came of, the baseline first."""
    found, seen = [record], {record.variant.variant_id}
    while (parent := found[-1].parent) is not None and parent not in seen:
        seen.add(parent)
        found.append(bench.evaluator.variant(parent))
    return found[::-1]


def failure_blocks(bench: Bench, record: VariantRecord) -> list[str]:
    """Why a variant failed, line by line, with the place of its largest error; none for one that
    was measured, or not evaluated."""
    evaluation = bench.evaluator.evaluation(record.variant.variant_id)
    if evaluation is None or evaluation.ending.measured:
        return []
    head = f"It ended as {evaluation.ending}: {advice(evaluation.ending, evaluation.gates)}."
    return [head, *_gate(evaluation), *evaluation.message.splitlines()]


def change_blocks(bench: Bench, record: VariantRecord, *, with_diff: bool = True) -> list[str]:
    """What it has that its parent has not, with what the compiler made of it. `with_diff`: of the
    sources, too, where it is no longer than the source."""
    if record.parent is None:
        return []
    parent = bench.evaluator.variant(record.parent)
    before, after = parent.variant, record.variant
    what = changed_between(before, after) or "nothing"
    blocks = [f"Against its parent {record.parent} ({_ended(bench, record.parent)}): {what}"]
    blocks += [f"- {line}" for line in _compiled(bench, record.parent, after.variant_id)]
    diff = source_diff(before.source, after.source, "kernel") if with_diff else ""
    if diff and tokens_of(diff) <= tokens_of(after.source):  # else it is another source altogether
        blocks.append(code_block("diff", diff))
    return blocks


def _speedup(bench: Bench, kernel: KernelRecord, record: VariantRecord) -> str:
    variant_id = record.variant.variant_id
    if variant_id == kernel.baseline:
        return "1, this is the baseline"
    evaluation = bench.evaluator.evaluation(variant_id)
    if evaluation is None:
        return "not evaluated yet"
    best = ", the best so far" if variant_id == kernel.incumbent else ""
    told = speedup_text(evaluation.speedup, evaluation.interval)
    return f"{told or 'not measured'} ({evaluation.ending}{best})"


def _ended(bench: Bench, variant_id: str) -> str:
    evaluation = bench.evaluator.evaluation(variant_id)
    if evaluation is None:
        return "baseline"
    told = speedup_text(evaluation.speedup, evaluation.interval)
    return f"{evaluation.ending} {told}".rstrip()


def _gate(evaluation: Evaluation) -> Iterator[str]:
    gate = failed_gate(evaluation.gates)
    if gate is None:
        return
    where = [f"gate {gate.gate}"]
    where += [f"shape {gate.shape}"] * (gate.shape is not None)
    where += [f"output {gate.output}"] * (gate.output is not None)
    if gate.worst_index is not None:
        where.append(f"worst at [{', '.join(map(str, gate.worst_index))}]")
    yield ", ".join(where)


def _compiled(bench: Bench, parent: str, variant_id: str) -> Iterator[str]:
    """Registers, spills and instructions of kernels where they differ."""
    before, after = (_facts(bench, each) for each in (parent, variant_id))
    for entry in after:
        if entry in before and (told := _differences(before[entry], after[entry])):
            yield f"{entry}: {told}"


def _facts(bench: Bench, variant_id: str) -> dict[str, KernelFacts]:
    known = known_artifact(bench.store, variant_id)
    return {} if known is None else {each.entry: each for each in known.facts.kernels}


def _differences(before: KernelFacts, after: KernelFacts) -> str:
    names = ("registers", "spill_bytes", "static_shared", "dynamic_shared", "instructions")
    pairs = ((name, getattr(before, name), getattr(after, name)) for name in names)
    return ", ".join(f"{name} {a} -> {b}" for name, a, b in pairs if a != b)
