"""A rule on a launch: fired, silent or unknown, with evidence and NVIDIA's word beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...runners.profiling.model import Advice, Instruction, KernelProfile, Profile
from ...runners.profiling.wanted import SAMPLES
from ..profile import names
from ..profile.lines import LineCount, by_line, opcode
from .derived import DERIVED
from .model import Blame, Confidence, Facts, Finding, Hit, Rule, Unknown, finding

FEW_NS, FEW_SAMPLES = 10_000.0, 1000.0
"""a launch of less than 10 us, or fewer samples at its instructions, says little for certain"""
MAX_LINES = 3
LEAST_SHARE = 0.005
"""of what is counted at all places"""


def evaluate(
    rule: Rule, launch: KernelProfile, profile: Profile, facts: Facts, share: float
) -> Finding | Unknown | None:
    """What the rule says of the launch, whose part of the run's time is `share`; None: silent.

    A rule of the whole run is given any of its launches, and a share of 1.
    """
    kernel = "" if rule.of_run else launch.kernel
    values = {name: _value(name, launch, profile, facts) for name in rule.needs}
    known = {name: value for name, value in values.items() if value is not None}
    if len(known) < len(values):
        missing = [part for name in values if name not in known for part in _parts(name, launch)]
        unique = tuple(dict.fromkeys(missing))
        return Unknown(rule=rule.id, kernel=kernel, missing=unique)
    hit = rule.judge(known)
    if hit is None:
        return None
    advice = _agreeing(rule, launch.advice)
    return _with_evidence(rule, hit, launch, known, advice, share, kernel)


def _value(name: str, launch: KernelProfile, profile: Profile, facts: Facts) -> float | None:
    derived = DERIVED.get(name)
    return launch.number(name) if derived is None else derived.of(launch, profile, facts)


def _parts(name: str, launch: KernelProfile) -> Iterable[str]:
    """What is missing of a value that is not known."""
    derived = DERIVED.get(name)
    if derived is None:
        return (name,)
    missing = [metric for metric in derived.metrics if metric not in launch.metrics]
    return missing or (derived.beside,)


def _with_evidence(
    rule: Rule,
    hit: Hit,
    launch: KernelProfile,
    values: dict[str, float],
    advice: Sequence[Advice],
    share: float,
    kernel: str,
) -> Finding:
    best = max(advice, key=_estimate, default=None)
    told = finding(rule, hit, kernel=kernel, share=share, values=values)
    return told.model_copy(
        update={
            "confidence": _confidence(rule, launch),
            "lines": () if rule.blame is None else _lines(rule.blame, launch.instructions),
            "agreed": bool(advice),
            "speedup_percent": None if best is None else best.speedup_percent,
            "scope": None if best is None else best.scope,
        }
    )


def _lines(blame: Blame, instructions: Iterable[Instruction]) -> tuple[LineCount, ...]:
    """The first places, and always one: a further one that rounds to 0 % is none to look at."""
    own = (
        each
        for each in instructions
        if blame.opcode is None or blame.opcode.fullmatch(opcode(each.sass))
    )
    first, others = (found := by_line(own, blame.counter, blame.ideal))[:1], found[1:MAX_LINES]
    return (*first, *(each for each in others if each.share >= LEAST_SHARE))


def _agreeing(rule: Rule, advice: Iterable[Advice]) -> list[Advice]:
    return [
        each
        for each in advice
        if any(each.rule == name and each.title.startswith(title) for name, title in rule.agrees)
    ]


def _estimate(advice: Advice) -> tuple[bool, float]:
    """Estimates for the whole launch before those for a part of it."""
    return advice.scope == "global", advice.speedup_percent or 0.0


def _confidence(rule: Rule, launch: KernelProfile) -> Confidence:
    time = launch.number(names.TIME)
    samples = launch.number(SAMPLES)
    short = time is not None and time < FEW_NS
    sparse = rule.blame is not None and samples is not None and samples < FEW_SAMPLES
    return "low" if short or sparse else "normal"
