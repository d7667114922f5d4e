"""The summary of a profile in a page that a model reads in one go: under 1,500 tokens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...runners.profiling.model import Advice, KernelProfile, Profile
from ..profile import names as n
from ..profile.shares import shares
from .findings import Findings, doubted
from .model import Finding, Unknown

MAX_FINDINGS, MAX_REST, MAX_OTHERS, MAX_LAUNCHES, MAX_STALLS = 8, 12, 4, 6, 3
PERCENT = "{:.0f} %"
MAX_TEXT, MAX_NAME, MAX_WHOSE, MAX_UNKNOWN = 180, 60, 30, 12
STALL_BEGIN, STALL_END = n.stall("|").split("|")


def card(profile: Profile, found: Findings) -> str:
    """Bottleneck, roofs, key numbers of the longest launch, findings with actions, and the rest."""
    longest = max(profile.launches, key=lambda launch: launch.nanoseconds or 0.0)
    lines = [
        _headline(profile, longest),
        f"bottleneck  {found.bottleneck.describe()}",
        f"roofs       {'; '.join(level.describe() for level in found.levels) or 'unknown'}",
        *_numbers(longest),
        *_launches(profile),
        *_findings(profile, found),
        *_others(found),
        *_unknown(found.unknown),
    ]
    return "\n".join(lines)


def _headline(profile: Profile, longest: KernelProfile) -> str:
    time, clock, passes = (longest.number(name) for name in (n.TIME, n.CLOCK, n.PASSES))
    parts = [
        _cut(longest.name, MAX_NAME),
        longest.device,
        f"grid {_extent(longest.shape.grid)} block {_extent(longest.shape.block)}",
        f"{time / 1000:.1f} us under ncu" if time else "",
        f"{clock / 1e9:.2f} GHz" if clock else "",
        f"{passes:.0f} passes" if passes else "",
        f"ncu {profile.written_by}" if profile.written_by else "",
    ]
    return ", ".join(part for part in parts if part)


_NUMBERS = (
    ("occupancy", n.ACHIEVED, PERCENT),
    ("theoretical", n.THEORETICAL, PERCENT),
    ("registers", n.REGISTERS, "{:.0f}"),
    ("shared/block", n.SHARED, "{:.0f} B"),
    ("waves", n.WAVES, "{:.2f}"),
    ("issue/cycle", n.ISSUE, "{:.2f}"),
    ("bytes/sector ld", n.LOADED, "{:.0f}"),
    ("st", n.STORED, "{:.0f}"),
    ("L1 hit", n.L1_HIT, PERCENT),
    ("L2 hit", n.L2_HIT, PERCENT),
    ("threads/warp", n.WORKING_THREADS, "{:.1f}"),
)


def _numbers(launch: KernelProfile) -> list[str]:
    # ncu counts hits and accesses in different passes, so that a share of them may exceed 100
    told = [
        f"{word} {form.format(min(100.0, value) if form == PERCENT else value)}"
        for word, name, form in _NUMBERS
        if (value := launch.number(name)) is not None
    ]
    stalls = ", ".join(f"{reason} {share:.0%}" for reason, share in top_stalls(launch))
    lines = [f"numbers     {', '.join(told)}"] if told else []
    return [*lines, f"stalls      {stalls}"] if stalls else lines


def top_stalls(launch: KernelProfile, most: int = MAX_STALLS) -> list[tuple[str, float]]:
    """What warps wait for, as parts of the time between two instructions, the largest first."""
    latency = launch.number(n.LATENCY)
    if not latency:
        return []
    parts = [
        (
            name.removeprefix(STALL_BEGIN).removesuffix(STALL_END),
            (launch.number(name) or 0) / latency,
        )
        for name in launch.metrics
        if name.startswith(STALL_BEGIN) and name.endswith(STALL_END)
    ]
    waits = [part for part in parts if part[0] not in ("selected", "not_selected") and part[1] > 0]
    return sorted(waits, key=lambda part: -part[1])[:most]


def _launches(profile: Profile) -> list[str]:
    parts = shares(profile)
    if len(profile.launches) == 1:
        return []
    if parts is None:
        return [f"launches    {len(profile.launches)}; their shares of the time are unknown"]
    by_kernel = dict[str, tuple[int, float]]()
    for launch, share in zip(profile.launches, parts, strict=True):
        count, sum_ = by_kernel.get(launch.name, (0, 0.0))
        by_kernel[launch.name] = (count + 1, sum_ + share)
    ranked = sorted(by_kernel.items(), key=lambda item: -item[1][1])
    told = [f"{_cut(name, MAX_NAME)} x{count} {share:.0%}" for name, (count, share) in ranked]
    return [f"launches    {_some(told, MAX_LAUNCHES)}"]


def _findings(profile: Profile, found: Findings) -> list[str]:
    if not found.ranked:
        unknown = len({each.rule for each in found.unknown})
        return [f"findings    none; {unknown} rules are unknown" if unknown else "findings    none"]
    known = {launch.kernel: launch.name for launch in profile.launches}
    lines = ["findings, the one to act on first:"]
    for number, each in enumerate(found.ranked[:MAX_FINDINGS], 1):
        whose = _cut(known[each.kernel], MAX_WHOSE) if each.kernel and len(known) > 1 else ""
        lines += _finding(number, each, whose)
    if rest := found.ranked[MAX_FINDINGS:]:
        lines.append(f"   and {_some(list(dict.fromkeys(f.rule for f in rest)), MAX_REST)}")
    return lines


def _finding(number: int, each: Finding, whose: str) -> list[str]:
    notes = [each.severity]
    if whose:
        notes.append(f"{whose}, {each.share:.0%} of the time")
    if each.agreed:
        estimate = f", {each.speedup_percent:.0f} % {each.scope}" if each.speedup_percent else ""
        notes.append(f"NVIDIA agrees{estimate}")
    if each.static:
        notes.append("static")
    if each.confidence == "low":
        notes.append("low confidence")
    lines = [f"{number}. {each.rule} ({'; '.join(notes)}): {each.text}"]
    if number <= MAX_FINDINGS // 2:
        lines.append(f"   do: {each.action}")
        if each.lines:
            where = ", ".join(f"{line.place} {line.share:.0%}" for line in each.lines)
            lines.append(f"   at: {where}")
    return lines


def _others(found: Findings) -> list[str]:
    told = [
        _cut_at_word(_advice(each, doubted(each, found.silent)), MAX_TEXT)
        for each in found.others[:MAX_OTHERS]
    ]
    return ["NVIDIA also says:", *(f"   {text}" for text in told)] if told else []


def _advice(advice: Advice, doubt: str) -> str:
    percent, scope = advice.speedup_percent, advice.scope
    notes = [f"{percent:.0f} % {scope}"] if percent else []
    notes += [f"our {doubt} finds nothing"] if doubt else []
    told = f" ({'; '.join(notes)})" if notes else ""
    return f"{advice.title or advice.name}{told}: {advice.message}"


def _unknown(unknown: Iterable[Unknown]) -> list[str]:
    """By what is missing: sections of ncu, or facts beside the profile."""
    by_lack = dict[str, dict[str, None]]()
    for each in unknown:
        lacks = dict.fromkeys(n.section(name) or name for name in each.missing)
        by_lack.setdefault(" and ".join(lacks), {})[each.rule] = None
    rules = {rule for rules in by_lack.values() for rule in rules}
    if len(rules) > MAX_UNKNOWN:
        lacking = dict.fromkeys(part for lacks in by_lack for part in lacks.split(" and "))
        return [f"unknown     {len(rules)} rules, which need {', '.join(lacking)}"]
    told = [f"{', '.join(rules)} (needs {lack})" for lack, rules in by_lack.items()]
    return [f"unknown     {'; '.join(told)}"] if told else []


def _some(words: Sequence[str], most: int) -> str:
    more = f", {len(words) - most} more" if len(words) > most else ""
    return ", ".join(words[:most]) + more


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _cut_at_word(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    whole, space, _ = text[: most - 3].rpartition(" ")
    return f"{whole if space else text[: most - 3]}..."


def _extent(numbers: Sequence[int]) -> str:
    return "x".join(str(number) for number in numbers)
