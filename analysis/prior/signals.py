"""Signals from what the rules found, and from the kernel's language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...runners.languages import KernelType
from ..rules.bottleneck import Bottleneck
from ..rules.findings import AGREED, SEVERITY
from ..rules.model import Finding
from .model import LOW_CONFIDENCE, STATIC, Signal

TOLD_BY_LANGUAGE: Mapping[KernelType, str] = {"triton": "written in Triton"}
"""Languages that are signals of their own; `table.py` has rows for these."""
MOST_SEVERE = max(SEVERITY.values())


def of_findings(ranked: Iterable[Finding], bottleneck: Bottleneck | None) -> tuple[Signal, ...]:
    """One signal a rule that fired, and one for the class of the bottleneck.

    A finding is as strong as its severity, times the part of the run's time that it is about, half
    of that at low confidence, and half where nothing was counted; NVIDIA's agreement raises it as
    it raises its rank. Findings of several kernels of a run add up: their parts of the time do.
    """
    found = dict[str, Signal]()
    for each in ranked:
        strength = _strength(each)
        before = found.get(each.rule)
        if before is not None:
            update = {"strength": before.strength + strength}
            found[each.rule] = before.model_copy(update=update)
            continue
        found[each.rule] = Signal(
            id=each.rule,
            strength=strength,
            source="build" if each.static else "counters",
            evidence=f"{each.kernel}: {each.text}" if each.share < 1 and each.kernel else each.text,
        )
    return (*found.values(), *_class(bottleneck))


def of_language(kernel_type: KernelType) -> tuple[Signal, ...]:
    """What the compiler of a language does without being asked."""
    told = TOLD_BY_LANGUAGE.get(kernel_type)
    if told is None:
        return ()
    return (Signal(id=kernel_type, strength=1.0, source="language", evidence=told),)


def _strength(finding: Finding) -> float:
    agreed = AGREED if finding.agreed else 1.0
    sure = LOW_CONFIDENCE if finding.confidence == "low" else 1.0
    sure *= STATIC if finding.static else 1.0
    return SEVERITY[finding.severity] / MOST_SEVERE * finding.share * agreed * sure


def _class(bottleneck: Bottleneck | None) -> tuple[Signal, ...]:
    if bottleneck is None or bottleneck.kind == "unknown":
        return ()
    low = bottleneck.confidence == "low"
    return (
        Signal(
            id=bottleneck.kind,
            strength=LOW_CONFIDENCE if low else 1.0,
            source="time" if low else "counters",
            evidence=bottleneck.text,
        ),
    )
