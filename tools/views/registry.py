"""What `inspect` shows: one function a part, those of kernels and variants in files beside this."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal

from ...runners.errors import HandleUnknown
from ...store.job_rows import job_count, unfinished_jobs
from ...store.searches import require_search, search_record, search_rows
from ..parts.jobs import record_of, records, reply_of, waiting_before
from ..parts.kernel_best import kernel_best
from ..parts.shortened import shortened_texts
from .built import BUILT
from .kernels import KERNEL, KERNELS, MEMORY
from .variants import VARIANT
from .view import JsonObject, Pages, Parts, View

if TYPE_CHECKING:
    from ...search.regraph.report import Line
    from ...search.session.workbench import Workbench

What = Literal[
    "kernels",
    "kernel",
    "variant",
    "searches",
    "search",
    "jobs",
    "job",
    "memory",
    "regraph",
    "settings",
    "skill",
    "host",
]


def _regraph(bench: Workbench, _: str) -> View:
    """Every step from a method to another, over all kernels, the most promising first."""
    from ...search.regraph.posterior import Posteriors
    from ...search.regraph.report import by_gain, edges
    from ...search.stored.experience import regraph_of

    lines = by_gain(edges(Posteriors(regraph_of(bench.store))))
    return [_measured(line, {"after": line.previous, "method": line.method}) for line in lines]


def _regraph_rules(bench: Workbench, _: str) -> View:
    """What following each rule brought where it had fired, the most promising first."""
    from ...search.regraph.posterior import Posteriors
    from ...search.regraph.report import brought
    from ...search.stored.experience import regraph_of

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


def _searches(bench: Workbench, _: str) -> View:
    return [_search_line(value) for value in search_rows(bench.store)]


def _search_line(value: JsonObject) -> JsonObject:
    kept = ("search_id", "kernel_id", "planner", "started_at", "stopped", "stopped_text")
    return {name: value[name] for name in kept if value.get(name)}


def _search(bench: Workbench, search_id: str) -> View:
    from ...search.engine.work import ledger_of
    from ...search.stored.graph import graph_of
    from ...search.stored.records import SearchRecord, status_of

    record = search_record(bench.store, search_id, SearchRecord)
    graph = graph_of(bench.store, search_id)
    status = status_of(record, graph, ledger_of(graph))
    profiles = [each.model_dump(mode="json", exclude_defaults=True) for each in record.profiles]
    best = kernel_best(bench, record.kernel_id)
    return status.model_dump(mode="json", exclude_none=True) | {
        "incumbent": best.incumbent,
        "incumbent_speedup": best.speedup,
        "planner": record.planner,
        "profiles": profiles,
        "settings": record.settings.model_dump(mode="json", exclude_defaults=True),
        **_costs(bench, search_id),
    }


def _costs(bench: Workbench, search_id: str) -> JsonObject:
    """What the answers to its questions cost; nothing where nobody was paid to answer."""
    from ...search.session.exchanges import costs_of

    costs = costs_of(bench.store, search_id)
    return {"costs": costs.model_dump(mode="json")} if costs.all.calls else {}


def _search_calls(bench: Workbench, search_id: str) -> View:
    """Every call to whoever plans: what was said, what came back, and what it cost."""
    from ...search.session.exchanges import calls_of

    require_search(bench.store, search_id)
    return [
        {
            "time": call.time,
            "ticket": call.ticket,
            "model": call.model,
            "usage": None if call.returned.usage is None else call.returned.usage.model_dump(),
            "usd": None if call.usd is None else str(call.usd),
            "stop": call.returned.stop,
            "said": list(call.returned.content),
            "asked": call.asked,
        }
        for call in calls_of(bench.store, search_id)
    ]


def _search_graph(bench: Workbench, search_id: str) -> View:
    from ...search.graph.records import node_record
    from ...search.stored.graph import graph_of

    graph = graph_of(bench.store, search_id)
    return [node_record(graph, node) for node in graph.nodes.values()]


def _search_history(bench: Workbench, search_id: str) -> View:
    """Every candidate in the order of proposal, without sources."""
    from ...search.graph.records import edge_record
    from ...search.stored.graph import graph_of

    edges = list[JsonObject]()
    for edge in map(edge_record, graph_of(bench.store, search_id).edges.values()):
        candidate = {k: v for k, v in edge["candidate"].items() if k not in ("source", "diff")}
        kept = ("edge_id", "parent", "child", "state", "ending", "visits", "message")
        edges.append({k: edge[k] for k in kept if edge[k] not in (None, "")} | candidate)
    return edges


def _job(bench: Workbench, job_id: str) -> View:
    """The job with its arguments; sources among them are cut."""
    record = record_of(bench, job_id)
    reply = reply_of(bench, record).model_dump(mode="json", exclude_none=True)
    return reply | {"arguments": shortened_texts(record.arguments)}


def _jobs(bench: Workbench, _: str) -> View:
    """Every job, the newest first, without results."""
    kept = {"status", "job_id", "tool", "kernel_id", "search_id", "ahead", "seconds", "error"}

    def read(limit: int, offset: int) -> list[JsonObject]:
        known = records(bench, limit, offset)
        ahead = waiting_before(unfinished_jobs(bench.store))
        told = (reply_of(bench, record, ahead) for record in known)
        return [
            shortened_texts(reply.model_dump(mode="json", include=kept, exclude_none=True))
            for reply in told
        ]

    return Pages(job_count(bench.store), read)


def _settings(_: Workbench, __: str) -> View:
    """Every setting of a search, as search_step takes it."""
    from ...search.settings import Settings

    fields = Settings.model_json_schema()["properties"]
    rest = ("default", "enum", "type", "minimum", "exclusiveMinimum", "maximum")
    return [
        {"setting": name, "about": " ".join(field["description"].split())}
        | {key: field[key] for key in rest if key in field}
        for name, field in fields.items()
    ]


def _skill(_: Workbench, skill_id: str) -> View:
    """A page of expert knowledge; without an id all of them, a line each. Raises HandleUnknown."""
    from ...skills.catalogue import UnknownSkill, one_line_catalogue, read

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

    from ...runners.languages import KERNEL_TYPES
    from ...runners.limits.processor import processor
    from ...runners.processes.sandbox import capabilities
    from ...runners.toolchains import named_toolchain

    return {
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "cores": len(os.sched_getaffinity(0)),
        "processor": processor().model_dump(mode="json"),
        "gpus": [{"name": d.name, "arch": d.arch, "uuid": d.uuid} for d in bench.gpus.present()]
        or bench.gpus.missing(),
        "toolchains": {t: named_toolchain(t).missing() or "ready" for t in sorted(KERNEL_TYPES)},
        "confinement": {c.name: c.detail for c in capabilities()},
        "roots": [str(folder) for folder in bench.roots.folders],
        "outdir": str(bench.outdir),
    }


VIEWS: Mapping[What, Parts] = {
    "kernels": KERNELS,
    "kernel": KERNEL,
    "variant": {**VARIANT, **BUILT},
    "searches": {"summary": _searches},
    "search": {
        "summary": _search,
        "graph": _search_graph,
        "history": _search_history,
        "calls": _search_calls,
    },
    "jobs": {"summary": _jobs},
    "job": {"summary": _job},
    "memory": MEMORY,
    "regraph": {"summary": _regraph, "rules": _regraph_rules},
    "settings": {"summary": _settings},
    "skill": {"summary": _skill},
    "host": {"summary": _host},
}
