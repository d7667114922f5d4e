"""What a run shows while it goes on: a live view on a terminal, plain lines in a file."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from kernels import tiny_kernel, with_known_peaks
from rich.console import Console

from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.files import load_file
from kernelwright.runners.model import Ending
from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.search.session.exchanges import Spent
from kernelwright.search.session.optimize import Answered, Began, Event, Failed, Opened, Opening
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import SearchRecord, StepReport
from kernelwright.server.live import LiveView, PlainLines, display, lines_of


def test_the_live_view_shows_where_a_search_stands() -> None:
    screen = io.StringIO()
    view = LiveView(Console(file=screen, force_terminal=True, width=100))
    opening, began, failed = _events()
    view.show(opening)
    view.show(began)
    assert "0/7 builds" in screen.getvalue()
    view.show(failed)
    view.close()
    assert "spec.json: no such field" in screen.getvalue()


def test_the_display_of_a_file_is_plain_lines(tmp_path: Path) -> None:
    with (tmp_path / "log").open("w") as log:
        shown = display(log)
        assert isinstance(shown, PlainLines)
        for event in _events():
            shown.show(event)
    lines = (tmp_path / "log").read_text().splitlines()
    assert lines[1] == "search s1 started: 7 builds, seed 3"
    assert lines[2] == "spec.json: no such field"


def test_a_log_says_that_there_was_nothing_to_resume_and_what_was_made_of_an_answer() -> None:
    _, began, _ = _events()
    assert isinstance(began, Began)
    (line,) = lines_of(replace(began, anew=True))
    assert line.startswith("search s1 started anew: --resume finds no search of this kernel")
    notes = ("ivdep: the source was used: the diff does not fit (\n  1 | x)", "unroll: dropped")
    told = lines_of(Answered(2, Spent(), notes))
    assert told[0].startswith("answer: 2 candidates")
    assert told[1:] == [
        "  ivdep: the source was used: the diff does not fit ( 1 | x)", "  unroll: dropped",
    ]  # fmt: skip


def test_a_log_tells_every_configuration_and_what_is_under_way_after_some_quiet_seconds() -> None:
    clock, log = iter((0.0, 1.0, 1.0, 5.9, 6.1, 6.1, 7.0)), io.StringIO()
    lines = PlainLines(log, lambda: next(clock))
    lines.found("configuration 1 of 2: TILE=8: 2x the baseline")  # at 1 s
    for stage in ("building", "checking", "timing", "fresh seeds"):  # at 1, 5.9, 6.1 and 7 s
        lines.report(f"configuration 2 of 2: TILE=4: {stage}")
    assert log.getvalue().splitlines() == [
        "  configuration 1 of 2: TILE=8: 2x the baseline",
        "  configuration 2 of 2: TILE=4: timing ...",
    ]


def test_the_live_view_shows_what_is_under_way_until_it_is_closed() -> None:
    screen = io.StringIO()
    view = LiveView(Console(file=screen, force_terminal=True, width=100))
    opening, began, _ = _events()
    view.report("before anything is shown")
    view.show(opening)
    view.show(began)
    view.found("configuration 1 of 2: TILE=8: 2x the baseline")
    view.report("configuration 2 of 2: TILE=4: timing")
    newest = screen.getvalue().rpartition("0/7 builds")[2]
    assert newest.index("configuration 1 of 2") < newest.index("configuration 2 of 2")
    view.close()
    shown = screen.getvalue()
    view.report("a thread that ends late")
    assert screen.getvalue() == shown and "before anything" not in shown


def test_a_log_names_the_variant_that_a_step_went_from_and_what_rules_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a step from the baseline nothing: else the same change would seem to bring now this and
    now that."""
    tiny_kernel(tmp_path)
    log, screen = io.StringIO(), io.StringIO()
    with Workbench(with_known_peaks(_made(tmp_path / "out")), [tmp_path]) as bench:
        kernel = bench.evaluator.open(load_file(tmp_path / "spec.json", bench.roots))
    for shown in (PlainLines(log), LiveView(Console(file=screen, force_terminal=True, width=120))):
        shown.show(Opened(kernel, False))
        shown.show(_step(kernel.baseline, "v0000000aaaaa", 0.918))
        shown.show(_step("v1111111bbbbb", "v2222222ccccc", 1.02))
        shown.close()
    assert log.getvalue().splitlines()[1:] == [
        "[1/7] slower: tune_parameters UNROLL=2 -> v0000000: 0.918x",
        "[1/7] slower: tune_parameters UNROLL=2 from v1111111 -> v2222222: 1.02x",
    ]
    newest = screen.getvalue().rpartition("0.918x")[2]
    assert "UNROLL=2 from v1111111" in newest
    assert "from" not in newest.rpartition("1.02x")[0]
    monkeypatch.setattr(nvrtc, "library", lambda: None)
    assert lines_of(Opened(kernel, False))[1:] == [f"  {nvrtc.UNREAD}"]


def test_a_log_says_where_a_sweep_found_nothing_better_than_where_it_began() -> None:
    log = io.StringIO()
    PlainLines(log).show(_step("v2222222ccccc", "v2222222ccccc", 1.02))
    assert log.getvalue().splitlines() == [
        "[1/7] tune_parameters UNROLL=2: nothing better than v2222222, 1.02x",
    ]


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _step(parent: str, variant_id: str, speedup: float) -> StepReport:
    return StepReport(
        search_id="s1",
        step=1,
        parent=parent,
        variant_id=variant_id,
        method="tune_parameters",
        detail="",
        changed="UNROLL=2",
        ending=Ending.slower,
        message="",
        speedup=speedup,
        interval=None,
        became_incumbent=False,
        duplicate=False,
        builds=1,
        budget=7,
    )


def _events() -> list[Event]:
    search = SearchRecord(
        search_id="s1",
        kernel_id="k",
        planner="rules",
        settings=Settings(budget_builds=7, seed=3),
        started_at="",
    )
    path = Path("spec.json")
    return [Opening(path), Began(search, False), Failed(path, SpecError("no such field"))]


def test_steps_of_a_log_and_the_live_view_tell_how_long_the_search_may_still_take() -> None:
    log, screen, clock = io.StringIO(), io.StringIO(), iter((0.0, 0.0, 0.0, 40.0, 40.0, 40.0))
    _, began, _ = _events()
    step = _step("v2222222ccccc", "v3333333ddddd", 1.5).model_copy(update={"builds": 2})
    lines = PlainLines(log, lambda: next(clock))
    lines.show(began)
    lines.show(step)
    assert log.getvalue().splitlines()[-1].endswith("(about 2 min left)")
    times = iter((0.0, 40.0))
    view = LiveView(Console(file=screen, force_terminal=True, width=120), lambda: next(times))
    view.show(began)
    view.show(step)
    view.close()
    assert "about 2 min left" in screen.getvalue()
