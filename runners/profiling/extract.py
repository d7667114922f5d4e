"""From the objects of NVIDIA's module `ncu_report` to our records; pure over its interface.

The interface is the one of versions 2025.3 to 2026.3, of which `Action` and `Value` name what is
used here. An unknown metric is None there; old reports give whole numbers as floats.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Protocol

from .model import Advice, AdviceKind, Instruction, KernelProfile, LaunchShape, Metric, Scope
from .wanted import BY_OPCODE, by_instruction

# IAction.NameBase_* and IMetric.ValueKind_STRING, SpeedupType and MsgType
FUNCTION, MANGLED, TEXT = 0, 2, 2
SCOPES: Mapping[int, Scope] = {1: "local", 2: "global"}
KINDS: Mapping[int, AdviceKind] = {1: "information", 2: "optimization", 3: "warning", 4: "error"}
MARKUP = re.compile(r"@(?:section:[^:@]*|url):([^@]*?)(?::https?://[^@]*)?@")
FUNCTION_PCS = "launch__function_pcs"
AXES = ("x", "y", "z")


class Value(Protocol):
    """IMetric: one value, and perhaps instances of it."""

    def value(self, index: int = ..., /) -> Any: ...
    def unit(self) -> str: ...
    def num_instances(self) -> int: ...
    def has_correlation_ids(self) -> bool: ...
    def correlation_ids(self) -> Value: ...


class Place(Protocol):
    """ISourceInfo."""

    def file_name(self) -> str: ...
    def line(self) -> int: ...


class Action(Protocol):
    """IAction: one launch."""

    def name(self, base: int = ..., /) -> str | None: ...
    def metric_names(self) -> Sequence[str]: ...
    def metric_by_name(self, name: str, /) -> Value | None: ...
    def rule_results_as_dicts(self) -> Sequence[Mapping[str, Any]]: ...
    def sass_by_pc(self, address: int, /) -> str | None: ...
    def ptx_by_pc(self, address: int, /) -> str | None: ...
    def source_info(self, address: int, /) -> Place | None: ...


def kernel_profile(action: Action, instances: Collection[str] = ()) -> KernelProfile:
    """One launch, with the instances of these metrics beside those that are always kept.

    Raises ValueError for one without a name: its part of the file is missing.
    """
    name = action.name(FUNCTION)
    if not name:
        raise ValueError("a launch without a name")
    values = {each: action.metric_by_name(each) for each in action.metric_names()}
    kept = BY_OPCODE.union(instances)
    told = {each: _metric(v, each in kept) for each, v in values.items()}
    metrics = {each: metric for each, metric in told.items() if metric is not None}
    return KernelProfile(
        kernel=action.name(MANGLED) or name,
        name=name,
        shape=LaunchShape(grid=_extent(metrics, "grid"), block=_extent(metrics, "block")),
        device=_text(metrics, "device__attribute_display_name"),
        capability=_capability(metrics),
        metrics=metrics,
        advice=tuple(_advice(action.rule_results_as_dicts())),
        instructions=_instructions(action, values),
    )


def plain(message: str) -> str:
    """A message of NVIDIA's rules without its references: `@section:ID:Title@` is `Title`."""
    return MARKUP.sub(lambda found: found[1], message).strip()


def _metric(value: Value | None, keep_instances: bool) -> Metric | None:
    told: Any = None if value is None else value.value()
    if value is None or told is None or told != told:  # ncu writes a share of nothing as NaN
        return None
    instances = _instances(value) if keep_instances else ()
    return Metric(
        value=told if isinstance(told, str) else float(told),
        unit=value.unit() or "",
        instances={str(key): number for key, number in instances},
    )


def _instances(value: Value) -> Iterable[tuple[Any, float]]:
    if not value.has_correlation_ids():
        return ()
    ids = value.correlation_ids()
    count = value.num_instances()
    return ((ids.value(i), float(value.value(i))) for i in range(count))


def _advice(results: Iterable[Mapping[str, Any]]) -> Iterable[Advice]:
    for result in results:
        told = result.get("rule_message", {})
        kind = KINDS.get(int(told.get("type", 0)))
        if kind is None or not told.get("message"):
            continue
        estimate = result.get("speedup_estimation", {})
        scope = SCOPES.get(int(estimate.get("type", 0)))
        yield Advice(
            rule=result.get("rule_identifier", ""),
            name=result.get("name", ""),
            section=result.get("section_identifier", ""),
            kind=kind,
            title=told.get("title", ""),
            message=plain(told["message"]),
            speedup_percent=float(estimate["speedup"]) if scope else None,
            scope=scope,
            metrics=tuple(f["name"] for f in result.get("focus_metrics", ())),
        )


def _instructions(action: Action, values: Mapping[str, Value | None]) -> tuple[Instruction, ...]:
    counters = dict[int, dict[str, float]]()
    for name, value in values.items():
        if value is None or not by_instruction(name):
            continue
        for address, number in _instances(value):
            if number and isfinite(number):
                counters.setdefault(int(address), {})[name] = number
    starts = _starts(values.get(FUNCTION_PCS), counters)
    return tuple(_instruction(action, at, starts, counters[at]) for at in sorted(counters))


def _starts(functions: Value | None, addresses: Iterable[int]) -> list[int]:
    """Where the functions of a launch begin; where that is not told, at its first instruction."""
    told = [] if functions is None else [int(number) for _, number in _instances(functions)]
    return sorted(told) or [min(addresses, default=0)]


def _instruction(
    action: Action, address: int, starts: Sequence[int], counters: dict[str, float]
) -> Instruction:
    function = max(0, bisect_right(starts, address) - 1)
    place = action.source_info(address)
    return Instruction(
        function=function,
        offset=address - starts[function],
        sass=(action.sass_by_pc(address) or "").strip(),
        ptx=(action.ptx_by_pc(address) or "").strip(),
        file="" if place is None else place.file_name(),
        line=None if place is None else place.line(),
        counters=counters,
    )


def _extent(metrics: Mapping[str, Metric], what: str) -> tuple[int, int, int]:
    x, y, z = (_number(metrics, f"launch__{what}_dim_{axis}") or 1 for axis in AXES)
    return x, y, z


def _capability(metrics: Mapping[str, Metric]) -> int | None:
    major, minor = (
        _number(metrics, f"device__attribute_compute_capability_{part}")
        for part in ("major", "minor")
    )
    return None if major is None or minor is None else 10 * major + minor


def _number(metrics: Mapping[str, Metric], name: str) -> int | None:
    metric = metrics.get(name)
    return int(metric.value) if metric and isinstance(metric.value, float) else None


def _text(metrics: Mapping[str, Metric], name: str) -> str:
    metric = metrics.get(name)
    return metric.value if metric and isinstance(metric.value, str) else ""
