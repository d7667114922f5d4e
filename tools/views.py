"""What `inspect` shows: one function a part, from a handle to facts, entries or a text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ..runners.errors import HandleUnknown
from .describing import gates_in_short, interval_of, significant, speedup_of, visible_kernels

if TYPE_CHECKING:
    from ..search.regraph.report import Line
    from .records import KernelRecord, VariantRecord
    from .workbench import Workbench

What = Literal[
    "kernels",
    "kernel",
    "variant",
    "searches",
    "search",
    "job",
    "memory",
    "regraph",
    "skill",
    "host",
]
JsonObject = dict[str, Any]
View = JsonObject | list[JsonObject] | str
"""Facts, entries or a text."""


def _kernels(bench: Workbench, _: str) -> View:
    from .overview import kernels

    return [_kernel_line(bench, kernel) for kernel in kernels(bench.store)]


def _kernel_line(bench: Workbench, kernel: KernelRecord) -> JsonObject:
    return {
        "kernel_id": kernel.kernel_id,
        "baseline": kernel.baseline,
        "incumbent": kernel.incumbent,
        "incumbent_speedup": speedup_of(bench, kernel.incumbent),
        "baseline_ms": {k: significant(v, 4) for k, v in kernel.baseline_ms.items()},
        "opened_at": kernel.opened_at,
    }


def _kernel(bench: Workbench, kernel_id: str) -> View:
    from .headroom import known_headroom
    from .overview import searches, variants

    kernel = bench.evaluator.kernel(kernel_id)
    return _kernel_line(bench, kernel) | {
        "source_path": kernel.loaded.source_path,
        "variants": len(variants(bench.store, kernel)),
        "searches": [s.search_id for s in searches(bench.store, kernel_id)],
        "headroom_of_baseline": known_headroom(bench, kernel, kernel.baseline_ms),
    }


def _kernel_source(bench: Workbench, kernel_id: str) -> View:
    return bench.evaluator.kernel(kernel_id).loaded.source


def _kernel_reference(bench: Workbench, kernel_id: str) -> View:
    return bench.evaluator.kernel(kernel_id).loaded.reference or "none: the baseline is the truth\n"


def _kernel_spec(bench: Workbench, kernel_id: str) -> View:
    from ..search.planner import without_held_out

    spec = without_held_out(bench.evaluator.kernel(kernel_id).loaded.spec)
    return spec.model_dump(mode="json", exclude_defaults=True, exclude={"reference"}) | {
        "kernel": spec.kernel.model_dump(
            mode="json", exclude_defaults=True, exclude={"source_code"}
        )
    }


def _kernel_variants(bench: Workbench, kernel_id: str) -> View:
    from .overview import variants

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


def _memory(bench: Workbench, kernel_id: str) -> View:
    from .overview import variants

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


def _memory_ideas(bench: Workbench, kernel_id: str) -> View:
    """By idea, what searches of the kernel tried; the oldest first."""
    from ..search.memory.recalling import recall

    bench.evaluator.kernel(kernel_id)
    told = list[JsonObject]()
    for idea in recall(bench.store, kernel_id).ideas():
        facts = idea.model_dump(mode="json", exclude={"here"}, exclude_defaults=True)
        rounded = {k: significant(facts[k]) for k in ("speedup", "gain") if facts.get(k)}
        told.append(facts | rounded | {"lesson": idea.lesson[:200]})
    return told


def _regraph(bench: Workbench, _: str) -> View:
    """Every step from a method to another, over all kernels, the most promising first."""
    from ..search.regraph.posterior import Posteriors
    from ..search.regraph.report import by_gain, edges
    from .learned import regraph_of

    lines = by_gain(edges(Posteriors(regraph_of(bench.store))))
    return [_measured(line, {"after": line.previous, "method": line.method}) for line in lines]


def _regraph_rules(bench: Workbench, _: str) -> View:
    """What following each rule brought where it had fired, the most promising first."""
    from ..search.regraph.posterior import Posteriors
    from ..search.regraph.report import brought
    from .learned import regraph_of

    found = brought(Posteriors(regraph_of(bench.store)), "rule").items()
    ranked = sorted(found, key=lambda each: -each[1].expected)
    return [_measured(line, {"rule": rule}) for rule, line in ranked]


def _measured(line: Line, names: JsonObject) -> JsonObject:
    return names | {
        "gain": line.gain,
        "tries": line.count,
        "failed": line.failed,
        "better": line.better,
        "kernels": line.kernels,
    }


def _variant(bench: Workbench, variant_id: str) -> View:
    record = bench.evaluator.variant(variant_id)
    evaluation = bench.evaluator.evaluation(variant_id)
    confirmation = bench.evaluator.confirmation(variant_id)
    variant = record.variant
    return {
        "kernel_id": variant.kernel_id,
        "parent": record.parent,
        "method": record.method,
        "detail": record.detail,
        "parameters": variant.parameters,
        "options": variant.options.model_dump(mode="json", exclude_none=True),
        "ending": None if evaluation is None else evaluation.ending,
        "message": None if evaluation is None else evaluation.message[:400],
        "speedup": None if evaluation is None else evaluation.speedup,
        "interval": None if evaluation is None else interval_of(evaluation),
        "gates": {} if evaluation is None else gates_in_short(evaluation.gates),
        "confirmed": None if confirmation is None else confirmation.message,
        "gates_of_the_winner": {}  # outcomes alone: what they say tells of held-out workloads
        if confirmation is None
        else {gate.gate: gate.outcome for gate in confirmation.gates},
        "source_lines": len(variant.source.splitlines()),
    }


def _variant_source(bench: Workbench, variant_id: str) -> View:
    return bench.evaluator.variant(variant_id).variant.source


def _variant_diff(bench: Workbench, variant_id: str) -> View:
    from .difference import changed_between, source_diff

    record = bench.evaluator.variant(variant_id)
    parent = record.parent or bench.evaluator.kernel(record.variant.kernel_id).baseline
    before = bench.evaluator.variant(parent).variant
    head = changed_between(before, record.variant) or "nothing"
    return f"# against {parent}: {head}\n" + source_diff(
        before.source, record.variant.source, "kernel"
    )


def _variant_build(bench: Workbench, variant_id: str) -> View:
    from .records import ArtifactRecord

    record = bench.evaluator.variant(variant_id)
    known = bench.store.get_record("artifacts", variant_id, ArtifactRecord)
    if known is not None:
        spec = bench.evaluator.kernel(record.variant.kernel_id).spec
        kernels = visible_kernels(known.facts.kernels, spec.workloads)
        facts = known.facts.model_copy(update={"kernels": kernels})
        code = {"code_hash": known.artifact.code_hash}
        return facts.model_dump(mode="json", exclude_none=True) | code
    evaluation = bench.evaluator.evaluation(variant_id)
    return "not built yet\n" if evaluation is None else evaluation.message + "\n"


def _variant_evaluation(bench: Workbench, variant_id: str) -> View:
    bench.evaluator.variant(variant_id)
    evaluation = bench.evaluator.evaluation(variant_id)
    if evaluation is None:
        return {"message": "not evaluated yet: call time_variant"}
    facts = evaluation.model_dump(mode="json", exclude_none=True, exclude={"build"})
    for workload in facts.get("comparison", {}).get("workloads", ()):
        workload.pop("blocks_ms")
    return facts


def _variant_history(bench: Workbench, variant_id: str) -> View:
    """From the variant back to the baseline."""
    steps = list[JsonObject]()
    record: VariantRecord | None = bench.evaluator.variant(variant_id)
    seen = set[str]()
    while record is not None and record.variant.variant_id not in seen:
        seen.add(record.variant.variant_id)
        evaluation = bench.evaluator.evaluation(record.variant.variant_id)
        steps.append(
            {
                "variant_id": record.variant.variant_id,
                "method": record.method,
                "detail": record.detail,
                "ending": None if evaluation is None else evaluation.ending,
                "speedup": None if evaluation is None else evaluation.speedup,
            }
        )
        record = None if record.parent is None else bench.evaluator.variant(record.parent)
    return steps


def _searches(bench: Workbench, _: str) -> View:
    return [_search_line(value) for value in bench.store.table("searches").values()]


def _search_line(value: JsonObject) -> JsonObject:
    kept = ("search_id", "kernel_id", "planner", "started_at", "stopped", "stopped_text")
    return {name: value[name] for name in kept if value.get(name)}


def _search(bench: Workbench, search_id: str) -> View:
    from .search_session import SearchSession

    session = SearchSession.resume(bench, search_id)
    changed = session.record.settings.model_dump(mode="json", exclude_defaults=True)
    return session.status().model_dump(mode="json", exclude_none=True) | {
        "planner": session.record.planner,
        "profiles": [
            each.model_dump(mode="json", exclude_defaults=True) for each in session.record.profiles
        ],
        "settings": changed,
    }


def _search_graph(bench: Workbench, search_id: str) -> View:
    from ..search.graph_records import node_record
    from .search_graph import graph_of

    graph = graph_of(bench.store, search_id)
    return [node_record(graph, node) for node in graph.nodes.values()]


def _search_history(bench: Workbench, search_id: str) -> View:
    """Every candidate in the order of proposal, without sources."""
    from ..search.graph_records import edge_record
    from .search_graph import graph_of

    edges = list[JsonObject]()
    for edge in map(edge_record, graph_of(bench.store, search_id).edges.values()):
        candidate = {k: v for k, v in edge["candidate"].items() if k not in ("source", "diff")}
        kept = ("edge_id", "parent", "child", "state", "ending", "visits", "message")
        edges.append({k: edge[k] for k in kept if edge[k] not in (None, "")} | candidate)
    return edges


def _job(bench: Workbench, job_id: str) -> View:
    return bench.store.require("jobs", job_id)


def _skill(_: Workbench, skill_id: str) -> View:
    """A page of expert knowledge; without an id all of them, a line each. Raises HandleUnknown."""
    from ..skills.catalogue import UnknownSkill, one_line_catalogue, read

    if not skill_id:
        return one_line_catalogue() + "\n"
    try:
        return read(skill_id)
    except UnknownSkill as error:
        raise HandleUnknown(
            f"no skill `{skill_id}`",
            valid=f"close: {', '.join(error.close)}" if error.close else "",
            next_step="inspect what skill without an id lists all, a line each",
        ) from error


def _host(bench: Workbench, _: str) -> View:
    import os
    import platform

    from ..runners.processes.sandbox import capabilities
    from ..runners.toolchains import TOOLCHAINS

    return {
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": len(os.sched_getaffinity(0)),
        "gpus": [{"name": d.name, "arch": d.arch, "uuid": d.uuid} for d in bench.gpus.present()]
        or bench.gpus.missing(),
        "toolchains": {t.kernel_type: t.missing() or "ready" for t in TOOLCHAINS},
        "confinement": {c.name: c.detail for c in capabilities()},
        "roots": [str(folder) for folder in bench.roots.folders],
        "outdir": str(bench.outdir),
    }


VIEWS: Mapping[What, Mapping[str, Callable[[Workbench, str], View]]] = {
    "kernels": {"summary": _kernels},
    "kernel": {
        "summary": _kernel,
        "source": _kernel_source,
        "reference": _kernel_reference,
        "spec": _kernel_spec,
        "variants": _kernel_variants,
    },
    "variant": {
        "summary": _variant,
        "source": _variant_source,
        "diff": _variant_diff,
        "build": _variant_build,
        "evaluation": _variant_evaluation,
        "history": _variant_history,
    },
    "searches": {"summary": _searches},
    "search": {"summary": _search, "graph": _search_graph, "history": _search_history},
    "job": {"summary": _job},
    "memory": {"summary": _memory, "ideas": _memory_ideas},
    "regraph": {"summary": _regraph, "rules": _regraph_rules},
    "skill": {"summary": _skill},
    "host": {"summary": _host},
}
