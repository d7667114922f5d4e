"""Findings of a run, the one to act on first.

Rank: severity, times the part of the run's time that it is about; causes before symptoms, and
those before what only names the kind of launch; an agreeing rule of NVIDIA's raises it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ...runners.model import Record
from ...runners.profiling.model import Advice, KernelProfile, Profile
from ..levels import Level, levels
from ..profile.shares import shares
from ..roofline import Roofline
from .bottleneck import Bottleneck, bottleneck
from .evaluating import evaluate
from .model import Facts, Finding, Role, Severity, Unknown
from .table import RULES

SEVERITY: Mapping[Severity, float] = {"high": 3.0, "medium": 2.0, "low": 1.0}
ROLE: Mapping[Role, float] = {"cause": 1.0, "symptom": 0.6, "class": 0.5}
"""so weighed that a severe symptom ranks below a moderate cause, and above a slight one"""
AGREED = 1.25
SAID = frozenset({"optimization", "warning"})
OF_NO_KERNEL = frozenset({"MemoryL2Compression"})
"""rules of NVIDIA's on what no kernel decides: whether a buffer may be compressed is said where it
is allocated, so that this one gives 0 % and an estimate for every kernel"""
LEAST_PERCENT = 1.0
"""of the whole launch: an estimate below it is told by none of its numbers"""


class Findings(Record):
    """All that the rules say of a run."""

    bottleneck: Bottleneck
    levels: tuple[Level, ...] = ()
    """the roofline of each level of memory, and of compute"""
    ranked: tuple[Finding, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    silent: tuple[str, ...] = ()
    """rules that looked and found nothing at any launch"""
    others: tuple[Advice, ...] = ()
    """what NVIDIA's rules say beyond that, the largest estimate for the whole first"""


def findings(
    profile: Profile | None, facts: Facts | None = None, roofline: Roofline | None = None
) -> Findings:
    """The findings of a run: from its profile, what else is known, and a measured time.

    Without a profile there is a bottleneck of lower confidence and every rule is unknown.
    """
    facts = facts or Facts()
    found = bottleneck(profile, roofline)
    if profile is None:
        unknown = tuple(Unknown(rule=r.id, kernel="", missing=("a profile",)) for r in RULES)
        return Findings(
            bottleneck=found, levels=levels(None, facts.work, roofline), unknown=unknown
        )
    results = list(_results(profile, facts))
    fired = merged(r for r in results if isinstance(r, Finding))
    unknown = tuple(dict.fromkeys(r for r in results if isinstance(r, Unknown)))
    spoken = {f.rule for f in fired} | {u.rule for u in unknown}
    return Findings(
        bottleneck=found,
        levels=levels(profile, facts.work, roofline),
        ranked=tuple(sorted(fired, key=rank, reverse=True)),
        unknown=unknown,
        silent=tuple(r.id for r in RULES if r.id not in spoken),
        others=_others(profile.launches, {f.rule for f in fired}),
    )


def rank(finding: Finding) -> float:
    """What findings are sorted by, the largest first."""
    agreed = AGREED if finding.agreed else 1.0
    return SEVERITY[finding.severity] * ROLE[finding.role] * agreed * finding.share


def _results(profile: Profile, facts: Facts) -> Iterable[Finding | Unknown | None]:
    parts = shares(profile) or (1.0 / len(profile.launches),) * len(profile.launches)
    for rule in RULES:
        if rule.of_run:
            yield evaluate(rule, profile.launches[0], profile, facts, 1.0)
            continue
        for launch, share in zip(profile.launches, parts, strict=True):
            yield evaluate(rule, launch, profile, facts, share)


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """One finding for a kernel however often it is launched: the longest launch's, all shares."""
    groups = dict[tuple[str, str], list[Finding]]()
    for each in findings:
        groups.setdefault((each.rule, each.kernel), []).append(each)
    return [_longest(group) for group in groups.values()]


def _longest(group: Sequence[Finding]) -> Finding:
    longest = max(group, key=lambda each: each.share)
    return longest.model_copy(update={"share": sum(each.share for each in group)})


def _others(launches: Iterable[KernelProfile], fired: set[str]) -> tuple[Advice, ...]:
    known = {pair for rule in RULES if rule.id in fired for pair in rule.agrees}
    said = (advice for launch in launches for advice in launch.advice if advice.kind in SAID)
    left = (a for a in said if not _one_of(a, known) and _is_news(a))
    first = {(advice.rule, advice.title): advice for advice in left}
    return tuple(sorted(first.values(), key=_by_estimate, reverse=True))


def _one_of(advice: Advice, pairs: Collection[tuple[str, str]]) -> bool:
    return any(advice.rule == rule and advice.title.startswith(title) for rule, title in pairs)


def _is_news(advice: Advice) -> bool:
    estimate = advice.speedup_percent
    slight = advice.scope == "global" and estimate is not None and estimate < LEAST_PERCENT
    return advice.rule not in OF_NO_KERNEL and not slight


def doubted(advice: Advice, silent: Collection[str]) -> str:
    """A rule of ours on the same, which looked and found nothing; empty where there is none."""
    same = (rule.id for rule in RULES if rule.id in silent and _one_of(advice, rule.agrees))
    return next(same, "")


def _by_estimate(advice: Advice) -> tuple[bool, float]:
    return advice.scope == "global", advice.speedup_percent or 0.0
