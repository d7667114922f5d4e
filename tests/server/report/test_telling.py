"""How a report is told: pure functions of one value, so nothing is built, run or read."""

from __future__ import annotations

import re
from decimal import Decimal
from html.parser import HTMLParser

import pytest

from kernelwright.search.drivers.driver import Usage
from kernelwright.search.session.exchanges import Costs, Spent
from kernelwright.server.report.facts import Point, Report, Rung, Speedup, Verdict
from kernelwright.server.report.markdown import LONGEST_DIFF, markdown
from kernelwright.server.report.page import page

EMPTY = {"br", "hr", "img", "input", "link", "meta"}
HOSTILE = '<script src="https://evil.example/x.js">alert(1)</script>'
DIFF = "--- a/k.cpp\n+++ b/k.cpp\n@@ -1 +1 @@\n-a\n+b ```\n"


class Outline(HTMLParser):
    """Tags that are left open or closed twice, and what names something elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.wrong = list[str](), list[str](), list[str]()
        self.elsewhere = list[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.elsewhere += [v for n, v in attrs if n in ("src", "href") and v and v[0] != "#"]
        if tag not in EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)


def rung(number: int, diff: str = DIFF, **changes: object) -> Rung:
    given = {
        "variant_id": f"v{number}",
        "method": "tile",
        "detail": "",
        "changed": "source (+1 -1 lines)",
        "diff": diff,
        "speedup": Speedup(value=2.0, interval=(1.9, 2.1)),
        "gain": Speedup(value=1.5),
    }
    return Rung.model_validate(given | changes)


def point(builds: int, usd: str, speedup: float) -> Point:
    return Point(
        builds=builds,
        usd=Decimal(usd),
        variant_id=f"v{builds}",
        method="tile",
        speedup=Speedup(value=speedup, interval=(speedup * 0.9, speedup * 1.1)),
    )


def report(**changes: object) -> Report:
    verdict = Verdict(
        standing="confirmed",
        variant_id="v9",
        speedup=Speedup(value=12.0, interval=(11.0, 13.0)),
        searched=14.0,
        message="measured anew",
        rests_on="2 shapes and 1 held out",
    )
    spent = Spent(calls=2, usage=Usage(input=150, output=50), usd=Decimal("0.03"))
    given = {
        "name": "scale",
        "kernel_id": "scale-1",
        "kernel_type": "cpp",
        "baseline": "v0",
        "verdict": verdict,
        "curve": (point(0, "0", 1), point(3, "0.01", 5), point(7, "0.03", 14)),
        "builds": 9,
        "ladder": (rung(1), rung(2)),
        "endings": {"faster": 2, "wrong": 1},
        "no_roofs": "the spec declares no `io.bytes`",
        "costs": Costs(all=spent, by_model={"m": spent}, by_section={"source": 120, "tried": 30}),
    }
    return Report.model_validate(given | changes)


def test_the_confirmed_verdict_stands_before_all_else() -> None:
    told = markdown(report()).splitlines()
    assert told[:3] == [
        "# scale",
        "",
        "**12x (11 to 13) faster, confirmed on 2 shapes and 1 held out.**",
    ]
    text = page(report())
    assert text.index("12x (11 to 13) faster, confirmed") < text.index("<h1>")  # its title
    assert text.index('class="headline"') < text.index("<h2>")
    assert "The search had measured 14x." in text


def test_the_page_asks_for_nothing_from_elsewhere_and_runs_nothing() -> None:
    outline = Outline(page(report(name=HOSTILE, ladder=(rung(1, diff=f"+{HOSTILE}\n"),))))
    assert outline.wrong == [] and outline.open == []
    assert outline.elsewhere == [] and "script" not in outline.tags
    assert "url(" not in page(report()) and "default-src 'none'" in page(report())


@pytest.mark.parametrize("control", ["\x00", "\x1b", "\ud800"])
def test_no_page_breaks_on_characters_that_no_page_may_have(control: str) -> None:
    text = page(report(machine=(f"built by {control}",)))
    assert text.encode() and control not in text


def test_every_picture_is_told_in_words_and_in_numbers() -> None:
    text = page(report())
    pictures = re.findall(r'<svg .*?aria-labelledby="(\S+) (\S+)".*?</svg>', text, re.DOTALL)
    assert len(pictures) == 2  # over builds and over dollars
    for title, description in pictures:
        assert f'<title id="{title}">' in text and f'<desc id="{description}">' in text
    assert "from 1x at the start to 14x (12.6 to 15.4), first reached after 7 of 9 builds" in text
    assert "<td><code>v7</code></td>" in text


def test_a_run_that_cost_no_dollars_has_no_curve_over_them() -> None:
    text = page(report(costs=Costs()))
    assert text.count("<svg ") == 1 and "No dollars were spent" in text


def test_a_run_that_found_nothing_draws_nothing() -> None:
    nothing = Verdict(standing="nothing", variant_id="v0")
    text = page(report(verdict=nothing, curve=(point(0, "0", 1),), ladder=()))
    assert "<svg " not in text and "No variant is known to be faster" in text


def test_a_gain_that_was_not_timed_side_by_side_says_so() -> None:
    assert "### 1. tile: about 1.5x, 2x so far" in markdown(report())
    timed = rung(1, gain=Speedup(value=1.5, interval=(1.4, 1.6)))
    assert "### 1. tile: 1.5x (1.4 to 1.6), 2x so far" in markdown(report(ladder=(timed,)))


def test_a_diff_cannot_end_the_block_that_it_stands_in() -> None:
    told = markdown(report(ladder=(rung(1),)))
    assert f"````diff\n{DIFF}````\n" in told


def test_a_long_diff_says_where_the_rest_lies() -> None:
    long = "".join(f"+line {number}\n" for number in range(LONGEST_DIFF + 7))
    for told in (markdown(report(ladder=(rung(3, long),))), page(report(ladder=(rung(3, long),)))):
        assert "... 7 more lines: variants/v3/candidate.diff" in told
        assert f"line {LONGEST_DIFF - 1}" in told and f"line {LONGEST_DIFF}\n" not in told


def test_tokens_are_told_by_section_with_their_shares() -> None:
    assert "| source | 120 | 80 % |" in markdown(report())
    assert '<th scope="row">source</th><td class="n">120</td><td class="n">80 %</td>' in page(
        report()
    )
