"""`trace.md`: a search told in a page, from its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ...evaluation.difference import changed_between
from ...runners.wording import speedup_text
from ...store.records import Confirmation, KernelRecord, VariantRecord, shapes_of
from ..engine.work import ledger_of
from ..graph.graph import Graph
from ..graph.nodes import Edge
from ..stored.records import SearchRecord
from .side_by_side import before_and_after, beside_reference


@dataclass(frozen=True)
class SearchTrace:
    """What a trace is written from."""

    kernel: KernelRecord
    search: SearchRecord
    graph: Graph
    variants: Mapping[str, VariantRecord]
    confirmation: Confirmation | None
    """of the kernel's incumbent"""


def trace(told: SearchTrace) -> str:
    """The page: kernel, verdict, way to the best variant, every step in order."""
    kernel, search = told.kernel, told.search
    ledger = ledger_of(told.graph)
    times = (
        ", ".join(f"{name} {ms:.4g} ms" for name, ms in kernel.baseline_ms.items()) or "not timed"
    )
    verdict = f"stopped ({search.stopped}): {search.stopped_text}" if search.stopped else "open"
    lines = [
        f"# {kernel.loaded.spec.name}",
        "",
        f"- kernel `{kernel.kernel_id}`, baseline `{kernel.baseline}`: {times} alone",
        f"- search `{search.search_id}`, planner {search.planner}, started {search.started_at}",
        f"- {ledger.builds} of {search.settings.budget_builds} builds, {ledger.steps} steps",
        f"- {verdict}",
        "",
        "## Best",
        "",
        *_best(told),
        "",
        "## Steps",
        "",
        "| step | variant | from | method | changed | ending | speedup in the search |",
        "| ---: | --- | --- | --- | --- | --- | --- |",
        *_steps(told),
    ]
    return "\n".join(lines) + "\n"


def _best(told: SearchTrace) -> Iterator[str]:
    kernel = told.kernel
    if kernel.incumbent == kernel.baseline:
        yield "No variant is known to be better than the baseline."
        return
    yield from _confirmed(told)
    yield "The way to it, with the speedups that the search saw:"
    yield ""
    for variant_id in reversed(_lineage(kernel.incumbent, told.variants)):
        record = told.variants[variant_id]
        before = told.variants.get(record.parent or "")
        changed = "" if before is None else changed_between(before.variant, record.variant)
        node = None if before is None else told.graph.nodes.get(variant_id)
        gained = "" if node is None else speedup_text(node.speedup, node.interval)
        yield f"1. `{variant_id}` {record.method}: {changed or 'the start'} {gained}".rstrip()


def _confirmed(told: SearchTrace) -> Iterator[str]:
    """The one speedup that counts, before those that led to it."""
    found = told.confirmation
    if found is None:
        yield f"`{told.kernel.incumbent}`, not confirmed yet."
    else:
        verdict = f"confirmed on {shapes_of(found)}" if found.accepted else "not confirmed"
        ratio = found.ratio
        gained = "" if ratio is None else speedup_text(ratio.speedup, found.interval)
        yield f"`{told.kernel.incumbent}`: {gained or 'no speedup'}, {verdict}. {found.message}"
        beside = (
            before_and_after(found, told.kernel.baseline),
            beside_reference(found, told.kernel.baseline),
        )
        for line in filter(None, beside):
            yield ""
            yield f"{line}."
    yield ""


def _lineage(variant_id: str, variants: Mapping[str, VariantRecord]) -> list[str]:
    """A variant and what it was made from, back to the baseline."""
    found = list[str]()
    here: str | None = variant_id
    while here is not None and here in variants and here not in found:
        found.append(here)
        here = variants[here].parent
    return found


def _steps(told: SearchTrace) -> Iterator[str]:
    taken = [(step, edge) for edge in told.graph.edges.values() for step in edge.steps]
    for step, edge in sorted(taken, key=lambda pair: pair[0]):
        yield _step(step, edge, told)


def _step(step: int, edge: Edge, told: SearchTrace) -> str:
    node = None if edge.child is None else told.graph.nodes[edge.child]
    record = told.variants.get(edge.child or "")
    before = told.variants.get(edge.parent)
    changed = (
        changed_between(before.variant, record.variant) if record is not None and before else ""
    )
    ending = "lost" if edge.ending is None else edge.ending.value
    notes = ["known"] * edge.duplicate + ["**new best**"] * edge.became_incumbent
    gained = "" if node is None else speedup_text(node.speedup, node.interval)
    cells = [
        str(step + 1),
        f"`{edge.child}`" if edge.child else "",
        f"`{edge.parent}`",
        edge.candidate.method,
        changed or edge.candidate.detail,
        ", ".join([ending, *notes]),
        gained,
    ]
    return "| " + " | ".join(_cell(cell) for cell in cells) + " |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
