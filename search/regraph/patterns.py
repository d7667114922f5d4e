"""`patterns.md`: what pays after what, in tables, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from .posterior import Posteriors
from .reasons import reasons
from .report import Line, brought, by_count, by_gain, by_machine, edges, nodes, step

FEW: Final = 15
"""lines of each list"""


def patterns(known: Posteriors) -> str:
    """The content of `patterns.md`: what pays after what, in tables."""
    regraph = known.regraph
    kernels = {each.kernel_id for each in regraph.searches}
    steps = sum(each.transitions for each in regraph.searches)
    head = f"{steps} evaluated steps of {len(regraph.searches)} searches on {len(kernels)} kernels."
    promising, tried = by_gain(edges(known))[:FEW], by_count(edges(known))[:FEW]
    shown = list({step(each): each for each in (*promising, *tried)}.values())
    told = [
        "# What paid after what",
        "",
        head,
        "A gain is the mean speedup over the state before the step, with its 95 % interval; with",
        "few tries it stays near the mean of all methods.",
        "",
        *_table("Most promising steps", promising),
        *_table("Most tried steps", tried),
        *_table("Methods", by_gain(nodes(known))),
        *_machines(known),
        *(_why(known, shown) if shown else []),
    ]
    rules = brought(known, "rule")
    if rules:
        told += ["## Rules: what following them brought", "", "| rule | gain | tries | failed |"]
        told += ["|---|---|---|---|"]
        ranked = sorted(rules.items(), key=lambda item: -item[1].expected)
        told += [f"| {name} | {x.gain} | {x.count} | {x.failed} |" for name, x in ranked] + [""]
    if regraph.merged:
        told += ["## Names that are counted as one", ""]
        merged = regraph.merged.items()
        told += [f"- `{name}` as `{each.into}`: {each.reason}" for name, each in merged] + [""]
    return "\n".join(told)


def _why(known: Posteriors, lines: Iterable[Line]) -> list[str]:
    """A list of reasons below each step."""
    told = ["## Why", ""]
    for each in lines:
        told.append(f"- {step(each)}, {each.describe()}")
        told += [f"  - {reason}" for reason in reasons(known, each)]
    return [*told, ""]


def _machines(known: Posteriors) -> list[str]:
    """What each method brought on each kind of machine, the most promising first."""
    rows = [
        f"| {x.method} | {x.language} | {x.arch} | {x.gain} | {x.count} | {x.failed} "
        f"| {len(x.kernels)} |"
        for x in by_gain(by_machine(known))
        if x.arch
    ]
    head = ["| method | language | machine | gain | tries | failed | kernels |"]
    return ["## By machine", "", *head, "|---|---|---|---|---|---|---|", *rows, ""] if rows else []


def _table(title: str, lines: Iterable[Line]) -> list[str]:
    rows = [
        f"| {step(each)} | {each.gain} | {each.count} | {each.failed} | {len(each.kernels)} |"
        for each in lines
    ]
    head = ["| step | gain | tries | failed | kernels |", "|---|---|---|---|---|"]
    return [f"## {title}", "", *head, *rows, ""]
