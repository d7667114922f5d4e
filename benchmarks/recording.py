"""Searches of benchmarks: their settings, and what they found as recorded graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from replay.recorded import RecordedGraph, recorded

from kernelwright.search.graph.graph import Graph
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.graph import graph_of
from kernelwright.search.stored.records import SearchRecord
from kernelwright.store.lessons import transition_rows
from kernelwright.store.records import KernelRecord
from kernelwright.store.searches import search_record


def settings_of(values: Mapping[str, Any], changes: Sequence[str]) -> Settings:
    """Settings with these values and then with what texts `NAME=VALUE` say. Raises ValueError."""
    pairs = [text.partition("=") for text in changes]
    if wrong := [name for name, equals, _ in pairs if not equals]:
        raise ValueError(f"a setting is given as NAME=VALUE, not as `{wrong[0]}`")
    return Settings.model_validate({**values, **{name: value for name, _, value in pairs}})


def recorded_search(bench: Workbench, search_id: str) -> RecordedGraph:
    """A search's graph in compact form, with the hash of each variant's machine code, and what
    bounds those from which something was tried. Raises HandleUnknown."""
    search = search_record(bench.store, search_id, SearchRecord)
    kernel, graph = bench.evaluator.kernel(search.kernel_id), graph_of(bench.store, search_id)
    spec, bounds = kernel.loaded.spec, _bottlenecks(bench, search_id)
    compact = recorded(graph, spec.name, spec.kernel.kernel_type, arch_of(bench, kernel))
    order = {key: place for place, key in enumerate(graph.found)}
    found = sorted(compact.nodes, key=lambda node: order.get(node.key, len(order)))
    nodes = tuple(
        n.model_copy(update={"code": code_of(bench, n.key), "bottleneck": bounds.get(n.key, "")})
        for n in found
    )
    return compact.model_copy(update={"nodes": nodes})


def _bottlenecks(bench: Workbench, search_id: str) -> dict[str, str]:
    """Classes of what bounds variants, as the transitions from them say."""
    return {
        step["parent"]: step.get("bottleneck", "")
        for _, step in transition_rows(bench.store)
        if step["search_id"] == search_id
    }


def arch_of(bench: Workbench, kernel: KernelRecord) -> str:
    """Such as sm_90a; the device's name for host code."""
    target = bench.gpus.target(kernel.loaded)
    return bench.gpus.device(kernel.loaded) if target is None else target.arch


def code_of(bench: Workbench, variant_id: str) -> str | None:
    """The hash of a variant's machine code with its plan; None: it was not built."""
    evaluation = bench.evaluator.evaluation(variant_id)
    return None if evaluation is None else evaluation.code_hash


def moves_to(graph: Graph, variant_id: str) -> list[dict[str, Any]]:
    """The moves by which a search first reached a variant, from the baseline on, each with the
    speedup over the baseline that was measured after it; none for the baseline itself."""
    node, moves = graph.of_variant(variant_id), list[dict[str, Any]]()
    while node is not None and node.key != graph.root_key:
        edge = graph.links_to(node.key)[0]
        told = {"method": edge.candidate.method, "detail": edge.candidate.detail}
        moves.append({**told, "speedup": node.speedup})
        node = graph.nodes[edge.parent]
    return moves[::-1]
