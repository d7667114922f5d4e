"""A report as one HTML file: no script, nothing from elsewhere, and the browser is told so.

Read by keyboard and by ear: headings in order, tables with captions and header cells, pictures with
a title, a description and their numbers as a table, diffs that open and close by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from importlib import resources

from .charts import curve
from .facts import Report, Roof, Rung, headline, speedup_words, wall_parts
from .html import cell, clean, code, table
from .markdown import dollars, gain_words, ms, sections, shown_diff

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def body(report: Report) -> list[str]:
    """Every section of it, to be put into a page."""
    parts: Iterable[Iterable[str]] = (
        _verdict(report),
        _reproduce(report),
        _times(report),
        _curve(report),
        _ladder(report),
        _endings(report),
        _roofs(report),
        _cost(report),
        _searches(report),
    )
    return [line for part in parts for line in part]


def page(report: Report) -> str:
    """The whole file."""
    style = resources.files(__package__ or "").joinpath("page.css").read_text(encoding="utf-8")
    name = clean(report.name)
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}: {clean(headline(report))}</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        '<a class="skip" href="#verdict">To the verdict</a>',
        "<main>",
        f"<h1>{name}</h1>",
        *body(report),
        "</main>",
        "</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _verdict(report: Report) -> Iterator[str]:
    verdict = report.verdict
    yield f'<section id="verdict" class="verdict {verdict.standing}" aria-label="Verdict">'
    yield f'<p class="headline">{clean(headline(report))}</p>'
    if verdict.message:
        yield f"<p>Confirmation: {clean(verdict.message)}</p>"
    if verdict.searched is not None:
        yield f'<p class="faint">The search had measured {verdict.searched:.3g}x.</p>'
    if verdict.changed:
        yield f"<p>What changed: {clean(verdict.changed)}</p>"
    yield (
        f'<p class="faint">Best variant {code(verdict.variant_id)}, baseline '
        f"{code(report.baseline)}, kernel {code(report.kernel_id)}, {clean(report.kernel_type)}</p>"
    )
    for each in report.machine:
        yield f'<p class="faint">{clean(each)}</p>'
    yield "</section>"


def _reproduce(report: Report) -> Iterator[str]:
    if report.reproduce:
        yield "<h2>How to reproduce it</h2>"
        for command, meaning in report.reproduce:
            yield f'<pre tabindex="0" role="group" aria-label="Command">{clean(command)}</pre>'
            yield f"<p>{clean(meaning)}.</p>"


def _times(report: Report) -> Iterator[str]:
    if report.times:
        yield "<h2>Times</h2>"
        rows = [
            (
                cell(each.workload + (" (held out)" if each.held_out else "")),
                cell(ms(each.baseline_ms)),
                cell(ms(each.best_ms)),
            )
            for each in report.times
        ]
        yield table("Median times by workload", ("workload", "#baseline, ms", "#best, ms"), rows)


def _curve(report: Report) -> Iterator[str]:
    points, spent = report.curve, report.costs.all.usd
    yield "<h2>The incumbent over builds and dollars</h2>"
    if len(points) > 1:
        yield '<div class="curves">'
        yield _figure(curve(points, report.builds, "builds", lambda p: p.builds), "over builds")
        if spent:
            usd = curve(points, float(spent), "dollars", lambda p: float(p.usd))
            yield _figure(usd, "over dollars")
        yield "</div>"
    if not spent:
        yield '<p class="faint">No dollars were spent.</p>'
    rows = [
        (
            cell(str(point.builds)),
            cell(dollars(point.usd)),
            code(point.variant_id),
            cell(point.method),
            cell(speedup_words(point.speedup)),
        )
        for point in points
    ]
    head = ("#builds", "#dollars", "new incumbent", "method", "speedup in the search")
    yield "<details><summary>The same in numbers</summary>"
    yield table(f"Incumbents; {report.builds} builds in all", head, rows)
    yield "</details>"


def _figure(svg: str, words: str) -> str:
    caption = f"Speedup of the incumbent {words}, as the search measured it"
    return f"<figure>{svg}<figcaption>{caption}</figcaption></figure>"


def _ladder(report: Report) -> Iterator[str]:
    if report.ladder:
        yield "<h2>The way to the best variant</h2>"
        yield '<ol class="ladder">'
        for number, rung in enumerate(report.ladder, 1):
            yield from _rung(number, rung)
        yield "</ol>"


def _rung(number: int, rung: Rung) -> Iterator[str]:
    yield f"<li><h3>{number}. {clean(rung.method)}: {clean(gain_words(rung))}</h3>"
    told = rung.changed or "nothing that the source shows"
    yield f"<div>{code(rung.variant_id)} {clean(told)}</div>"
    if rung.detail:
        yield f'<div class="faint">{clean(rung.detail)}</div>'
    if rung.diff:
        lines = shown_diff(rung).splitlines()
        yield f"<details><summary>Diff of step {number}, {len(lines)} lines</summary>"
        yield f'<pre class="diff" tabindex="0" aria-label="Diff of step {number}">'
        yield "".join(_diff_line(line) for line in lines) + "</pre></details>"
    yield "</li>"


def _diff_line(line: str) -> str:
    kinds = {"+": ' class="add"', "-": ' class="del"', "@": ' class="at"'}
    return f"<span{kinds.get(line[:1], '')}>{clean(line)}</span>"


def _endings(report: Report) -> Iterator[str]:
    if report.endings:
        most = max(report.endings.values())
        rows = [
            (cell(name), cell(str(count)), _bar(count / most))
            for name, count in report.endings.items()
        ]
        yield "<h2>How everything that was tried ended</h2>"
        yield table("Variants by ending", ("ending", "#variants", ""), rows)


def _roofs(report: Report) -> Iterator[str]:
    yield "<h2>Roofline, before and after</h2>"
    if not report.roofs:
        yield f"<p>Unknown: {clean(report.no_roofs)}.</p>"
        return
    rows = [row for each in report.roofs for row in _roof_rows(each)]
    head = ("workload", "variant", "share of what bounds it", "")
    yield table("How near each workload is to the machine's limit", head, rows)


def _roof_rows(roof: Roof) -> Iterator[Sequence[str]]:
    sides = (("baseline", roof.before), ("best", roof.after))
    for who, side in sides:
        if side is not None:
            found = side.roofline
            bar = "" if found.share is None else _bar(min(1.0, found.share))
            yield cell(roof.workload), cell(who), cell(found.describe()), bar


def _cost(report: Report) -> Iterator[str]:
    yield "<h2>What it cost</h2>"
    parts = wall_parts(report)
    if parts:
        rows = [(cell(part), cell(f"{seconds:.3g}")) for part, seconds in parts.items()]
        yield table("Seconds of all evaluations", ("part", "#seconds"), rows)
    costs = report.costs
    if not costs.all.calls:
        yield "<p>No model and no program was asked.</p>"
        return
    yield f"<p>Answers: {clean(costs.all.describe())}</p>"
    models = [
        (cell(model or "a program"), cell(spent.describe()))
        for model, spent in costs.by_model.items()
    ]
    yield table("Answers by model", ("model", "spent"), models)
    rows = [(cell(name), cell(f"{n:,}"), cell(share)) for name, n, share in sections(report)]
    if rows:
        head = ("section of the brief", "#tokens", "#share")
        yield table("Tokens of input by section", head, rows)


def _searches(report: Report) -> Iterator[str]:
    if report.searches:
        rows = [
            (
                code(each.search_id),
                cell(f"{each.planner} {each.model}".strip()),
                cell(each.began),
                cell(f"{each.builds} of {each.budget}"),
                cell(each.stopped or "goes on"),
            )
            for each in report.searches
        ]
        yield "<h2>Searches</h2>"
        head = ("search", "planner", "started", "#builds", "ended")
        yield table("Searches of this kernel, the first first", head, rows)


def _bar(share: float) -> str:
    """A bar for those who see it; its number stands in another cell."""
    width = f"width:{100 * share:.1f}%"
    return f'<span class="bar" aria-hidden="true"><span style="{width}"></span></span>'
