"""Where a search starts: a graph of one node, the kernel's baseline or a variant that was timed."""

from __future__ import annotations

from ...evaluation.bench import Bench
from ...runners.errors import SpecError
from ...store.records import KernelRecord
from ..graph.graph import Graph


def graph_from(bench: Bench, kernel: KernelRecord, start: str) -> Graph:
    """The graph of a search that starts from a variant of the kernel. Raises HandleUnknown, and
    SpecError for a variant of another kernel or one that was not measured."""
    graph = Graph()
    if start == kernel.baseline:
        graph.add_root(start)
        return graph
    if bench.evaluator.variant(start).variant.kernel_id != kernel.kernel_id:
        raise SpecError(
            f"variant `{start}` is not one of {kernel.kernel_id}",
            valid="incumbent, baseline, or a variant of this kernel",
        )
    known = bench.evaluator.evaluation(start)
    if known is None or not known.ending.measured:
        ended = "was not evaluated yet" if known is None else f"ended as `{known.ending}`"
        raise SpecError(
            f"a search cannot start from `{start}`, which {ended}",
            valid="incumbent, baseline, or a variant that was timed",
            next_step=f'call time_variant {{"variant_id": "{start}"}} first',
        )
    graph.add_root(start, known.ending, known.speedup, known.interval)
    return graph
