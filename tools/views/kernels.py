"""What `inspect` shows of kernels and of the memory of one, a function a part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...runners.wording import significant
from ..parts.kernel_best import kernel_best
from .view import JsonObject, Parts, View

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...store.records import KernelRecord


def _kernels(bench: Bench, _: str) -> View:
    from ...store.kernels import kernel_records

    return [_kernel_line(bench, kernel) for kernel in kernel_records(bench.store)]


def _kernel_line(bench: Bench, kernel: KernelRecord) -> JsonObject:
    best = kernel_best(bench, kernel.kernel_id)
    return {
        "kernel_id": kernel.kernel_id,
        "baseline": kernel.baseline,
        "incumbent": best.incumbent,
        "incumbent_speedup": best.speedup,
        "baseline_ms": {k: significant(v, 4) for k, v in kernel.baseline_ms.items()},
        "opened_at": kernel.opened_at,
    }


def _kernel(bench: Bench, kernel_id: str) -> View:
    from ...evaluation.evidence.headroom import known_headroom
    from ...search.outdir.overview import searches, variants

    kernel = bench.evaluator.kernel(kernel_id)
    return _kernel_line(bench, kernel) | {
        "source_path": kernel.loaded.source_path,
        "variants": len(variants(bench.store, kernel)),
        "searches": [s.search_id for s in searches(bench.store, kernel_id)],
        "headroom_of_baseline": known_headroom(bench, kernel, kernel.baseline_ms),
    }


def _kernel_source(bench: Bench, kernel_id: str) -> View:
    return bench.evaluator.kernel(kernel_id).loaded.source


def _kernel_reference(bench: Bench, kernel_id: str) -> View:
    return bench.evaluator.kernel(kernel_id).loaded.reference or "none: the baseline is the truth\n"


def _kernel_spec(bench: Bench, kernel_id: str) -> View:
    from ...search.planning.planner import without_held_out

    spec = without_held_out(bench.evaluator.kernel(kernel_id).loaded.spec)
    return spec.model_dump(mode="json", exclude_defaults=True, exclude={"reference"}) | {
        "kernel": spec.kernel.model_dump(
            mode="json", exclude_defaults=True, exclude={"source_code"}
        )
    }


def _kernel_variants(bench: Bench, kernel_id: str) -> View:
    from ...search.outdir.overview import variants

    return [
        {
            "variant_id": line.variant_id,
            "parent": line.record.parent,
            "method": line.record.method,
            "changed": line.changed,
            "ending": line.ending,
            "speedup": None if line.speedup is None else significant(line.speedup),
            "incumbent": line.is_incumbent,
        }
        for line in variants(bench.store, bench.evaluator.kernel(kernel_id))
    ]


def _memory(bench: Bench, kernel_id: str) -> View:
    from ...search.outdir.overview import variants

    lines = variants(bench.store, bench.evaluator.kernel(kernel_id))
    return [
        {
            "method": line.record.method,
            "changed": line.changed,
            "detail": line.record.detail,
            "ending": line.ending,
            "speedup": None if line.speedup is None else significant(line.speedup),
            "lesson": (line.evaluation.message.splitlines() or [""])[0][:200],
            "variant_id": line.variant_id,
        }
        for line in lines
        if line.evaluation is not None and not line.is_baseline
    ]


def _memory_ideas(bench: Bench, kernel_id: str) -> View:
    """By idea, what searches of the kernel tried; the oldest first."""
    from ...search.stored.recalling import recall

    bench.evaluator.kernel(kernel_id)
    told = list[JsonObject]()
    for idea in recall(bench.store, kernel_id).ideas():
        facts = idea.model_dump(mode="json", exclude={"here"}, exclude_defaults=True)
        rounded = {k: significant(facts[k]) for k in ("speedup", "gain") if facts.get(k)}
        told.append(facts | rounded | {"lesson": idea.lesson[:200]})
    return told


def _memory_digest(bench: Bench, kernel_id: str) -> View:
    """What works on the kernel, what does not, and what is open; in lines."""
    from ...search.digest import digest
    from ...search.stored.recalling import in_short

    bench.evaluator.kernel(kernel_id)
    lists = digest(in_short(bench.store, kernel_id))
    return {verdict: list(lines) for verdict, lines in lists.items()}


KERNELS: Parts = {"summary": _kernels}
KERNEL: Parts = {
    "summary": _kernel,
    "source": _kernel_source,
    "reference": _kernel_reference,
    "spec": _kernel_spec,
    "variants": _kernel_variants,
}
MEMORY: Parts = {"summary": _memory, "ideas": _memory_ideas, "digest": _memory_digest}
