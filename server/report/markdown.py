"""A report as Markdown: the verdict first, then how to repeat it, and how it came about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from .facts import Report, Rung, headline, speedup_words, wall_parts

LONGEST_DIFF = 400
"""lines of a step's diff; the file that has all of it is named then"""


def markdown(report: Report) -> str:
    """The whole page."""
    parts: Iterable[Iterable[str]] = (
        _head(report),
        _reproduce(report),
        _times(report),
        _curve(report),
        _ladder(report),
        _endings(report),
        _roofs(report),
        _cost(report),
        _searches(report),
    )
    return "\n".join(line for part in parts for line in part).rstrip() + "\n"


def _head(report: Report) -> Iterator[str]:
    verdict = report.verdict
    yield f"# {report.name}"
    yield ""
    yield f"**{headline(report)}**"
    yield ""
    if verdict.message:
        yield f"- confirmation: {one_line(verdict.message)}"
    if verdict.searched is not None:
        yield f"- the search had measured {verdict.searched:.3g}x"
    if verdict.changed:
        yield f"- what changed: {one_line(verdict.changed)}"
    yield f"- best variant `{verdict.variant_id}`, baseline `{report.baseline}`"
    yield f"- kernel `{report.kernel_id}`, {report.kernel_type}"
    for each in report.machine:
        yield f"- {each}"
    yield ""


def _reproduce(report: Report) -> Iterator[str]:
    if report.reproduce:
        yield from ("## How to reproduce it", "")
        for command, meaning in report.reproduce:
            yield from ("```", command, "```", "", f"{meaning}.", "")


def _times(report: Report) -> Iterator[str]:
    if report.times:
        yield from ("## Times", "")
        rows = [
            (
                each.workload + (" (held out)" if each.held_out else ""),
                ms(each.baseline_ms),
                ms(each.best_ms),
            )
            for each in report.times
        ]
        yield from _table(("workload", "baseline, ms", "best, ms"), rows)


def _curve(report: Report) -> Iterator[str]:
    yield from ("## The incumbent over builds and dollars", "")
    rows = [
        (
            str(point.builds),
            dollars(point.usd),
            f"`{point.variant_id}`",
            point.method,
            speedup_words(point.speedup),
        )
        for point in report.curve
    ]
    head = ("builds", "dollars", "new incumbent", "method", "speedup in the search")
    yield from _table(head, rows)
    yield from (f"{report.builds} builds in all.", "")


def _ladder(report: Report) -> Iterator[str]:
    if not report.ladder:
        return
    yield from ("## The way to the best variant", "")
    for number, rung in enumerate(report.ladder, 1):
        yield f"### {number}. {rung.method}: {gain_words(rung)}"
        yield ""
        yield f"`{rung.variant_id}`: {one_line(rung.changed) or 'nothing that the source shows'}"
        if rung.detail:
            yield f"({one_line(rung.detail)})"
        yield ""
        if rung.diff:
            fence = fence_around(rung.diff)
            yield from (f"{fence}diff", shown_diff(rung).rstrip("\n"), fence, "")


def _endings(report: Report) -> Iterator[str]:
    if report.endings:
        yield from ("## How everything that was tried ended", "")
        rows = [(name, str(count)) for name, count in report.endings.items()]
        yield from _table(("ending", "variants"), rows)


def _roofs(report: Report) -> Iterator[str]:
    yield from ("## Roofline, before and after", "")
    if not report.roofs:
        yield from (f"Unknown: {report.no_roofs}.", "")
        return
    rows = [
        (
            each.workload,
            each.before.roofline.describe(),
            "-" if each.after is None else each.after.roofline.describe(),
        )
        for each in report.roofs
    ]
    yield from _table(("workload", "baseline", "best"), rows)


def _cost(report: Report) -> Iterator[str]:
    yield from ("## What it cost", "")
    for part, seconds in wall_parts(report).items():
        yield f"- {part}: {seconds:.3g} s"
    costs = report.costs
    if costs.all.calls:
        yield f"- answers: {costs.all.describe()}"
        for model, spent in costs.by_model.items():
            yield f"  - {model or 'a program'}: {spent.describe()}"
        yield from ("", "Tokens of their input, by section of the brief:", "")
        rows = [(name, f"{tokens:,}", share) for name, tokens, share in sections(report)]
        yield from _table(("section", "tokens", "share"), rows)
    else:
        yield "- answers of a model or a program: none were asked for"
    yield ""


def _searches(report: Report) -> Iterator[str]:
    if report.searches:
        yield from ("## Searches", "")
        rows = [
            (
                f"`{each.search_id}`",
                f"{each.planner} {each.model}".strip(),
                each.began,
                f"{each.builds} of {each.budget}",
                each.stopped or "goes on",
            )
            for each in report.searches
        ]
        yield from _table(("search", "planner", "started", "builds", "ended"), rows)


def sections(report: Report) -> list[tuple[str, int, str]]:
    """Tokens of input by section, the most first, each with its share; sections without are left
    out."""
    spent = report.costs.by_section
    whole = sum(spent.values()) or 1
    ranked = sorted(spent.items(), key=lambda each: (-each[1], each[0]))
    return [(name, n, f"{100 * n / whole:.0f} %") for name, n in ranked if n]


def gain_words(rung: Rung) -> str:
    """What a step gained, and what it came to; a quotient of two measurements says so."""
    if rung.gain is None:
        return "not measured"
    about = "" if rung.gain.interval else "about "
    told = f"{about}{speedup_words(rung.gain)}"
    so_far = None if rung.speedup is None else f"{rung.speedup.value:.3g}x"
    return told if so_far is None or rung.gain == rung.speedup else f"{told}, {so_far} so far"


def shown_diff(rung: Rung) -> str:
    """The diff, or its first lines and where all of it lies."""
    lines = rung.diff.splitlines(keepends=True)
    if len(lines) <= LONGEST_DIFF:
        return rung.diff
    more = len(lines) - LONGEST_DIFF
    told = f"... {more} more lines: variants/{rung.variant_id}/candidate.diff\n"
    return "".join(lines[:LONGEST_DIFF]) + told


def fence_around(text: str) -> str:
    """More backticks than any run of them within the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return fence


def ms(value: float | None) -> str:
    """Milliseconds; a dash for what was not measured."""
    return "-" if value is None else f"{value:.4g}"


def dollars(value: Decimal) -> str:
    """`$0.0312`."""
    return f"${value:.4f}"


def one_line(text: str) -> str:
    """Text without breaks."""
    return " ".join(text.split())


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(one_line(cell).replace("|", "\\|") for cell in row) + " |"
    yield ""
