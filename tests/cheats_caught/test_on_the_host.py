"""The library of cheats against the evaluator: every page is caught by what it says, or passes."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Generator, Sequence
from functools import cache, partial
from pathlib import Path

import page_tiers
import pytest
import write_honest
from tiers import cases

from kernelwright.evaluation.rig.open_kernel import TIMING
from kernelwright.runners.comparing import settling
from kernelwright.runners.errors import AccessError, SpecError
from kernelwright.runners.model import Ending
from kernelwright.search.session.workbench import Workbench
from kernelwright.server import selftesting
from kernelwright.server.selftest import cheats
from kernelwright.server.selftest.cheats import (
    NO_GAIN,
    ROWS,
    Cheat,
    catalogue,
    chosen,
    chosen_of_tier,
    impossible,
    read_cheat,
)
from kernelwright.server.selftest.running import Outcome, attempt, victim_of
from kernelwright.server.selftest_table import selftest_table, verdict_text
from kernelwright.server.selftesting import run_selftest
from kernelwright.store.records import KernelRecord

PAGES = catalogue()
NATIVE = [cheat for cheat in PAGES if cheat.tier == "native"]
DEVICE = [cheat for cheat in PAGES if cheat.tier == "device"]
TRITON = [cheat for cheat in DEVICE if cheat.kernel_type == "triton"]
NEAR = tuple(
    f"cuda/honest_{name}"
    for name in (
        *("bulk_copy", "bulk_sums", "patience", "comments_in_assembly", "numbers_by_index"),
        *("asks_a_barrier_again", "asks_before_it_waits", "polls_while_it_works"),
    )
)
BY_TIMES = {"is_right_while_timed", "computes_every_call", "computes_anew", NO_GAIN, "not kept"}
"""what meets a cheat while it is timed, or is what its times are to tell"""
READ = [c for c in DEVICE if c.page.expect[0] == "machine_code_screen" or c.name in NEAR]
"""what is decided by machine code alone, and honest kernels that come near it"""


@pytest.fixture(scope="module", autouse=True)
def briefly(brief_timing: None) -> None:
    """What no page rests on is timed briefly, such as each victim alone when it is opened."""


@pytest.fixture(scope="module")
def victim(bench: Workbench) -> Callable[[str], KernelRecord]:
    """The victim of a name, opened when it is first asked for."""
    return cache(partial(victim_of, bench))


@cases(
    "cheat",
    NATIVE,
    kinds=page_tiers.what_is_asked,
    always=page_tiers.stays_on_the_host,
    why=page_tiers.WHY,
    ids=lambda cheat: cheat.name,
)
def test_a_host_kernel_is_stopped_by_what_its_page_says(
    cheat: Cheat,
    bench: Workbench,
    victim: Callable[[str], KernelRecord],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not BY_TIMES.isdisjoint(cheat.page.expect):  # they are timed as users' kernels are
        monkeypatch.setitem(TIMING, "native", settling.NATIVE)
    found = attempt(bench, victim(cheat.page.victim), cheat)
    assert found.verdict in ("passed" if cheat.honest else "caught", "not run"), found
    busy = found.by == NO_GAIN  # nothing that a disturbed comparison calls no faster is kept
    # Which gate first meets what is wrong while it is timed is a matter of moments.
    moments = "is_right_while_timed" in cheat.page.expect
    assert found.expected or busy or moments or found.verdict == "not run", found
    assert "does not build" not in found.message


@cases(
    "cheat",
    TRITON,
    kinds=page_tiers.what_is_asked_without_a_gpu,
    always=page_tiers.stays_on_the_host,
    why=page_tiers.WHY,
    ids=lambda cheat: cheat.name,
)
def test_a_triton_kernel_without_a_gpu_is_screened_built_and_interpreted(
    cheat: Cheat, bench: Workbench
) -> None:
    if not bench.gpus.missing():
        pytest.skip("there is a GPU: it is evaluated there")
    found = attempt(bench, victim_of(bench, cheat.page.victim), cheat)
    early = {"static_screen", "rejected", "build_failed"} & set(cheat.page.expect)
    assert found.verdict == ("caught" if early else found.verdict), found
    assert found.verdict in ("caught", "not run"), found
    assert found.expected, found
    assert found.verdict == "caught" or "built only" in found.message, found


@cases(
    "cheat",
    READ,
    ids=lambda cheat: cheat.name,
    why="another page that its machine code decides, or an honest one that comes near it",
    kinds=page_tiers.what_is_asked,
    always=page_tiers.found_something,
)
def test_what_machine_code_says_is_said_without_a_gpu(cheat: Cheat, bench: Workbench) -> None:
    if not bench.gpus.missing():
        pytest.skip("there is a GPU: it is evaluated there")
    found = attempt(bench, victim_of(bench, cheat.page.victim), cheat)
    assert found.expected, found
    if cheat.honest:
        assert found.verdict == "not run" and "built only" in found.message, found
    else:
        assert (found.verdict, found.by) == ("caught", "machine_code_screen"), found


@pytest.mark.gpu
@pytest.mark.parametrize("cheat", DEVICE, ids=lambda cheat: cheat.name)
def test_a_gpu_kernel_is_stopped_by_what_its_page_says(cheat: Cheat, bench: Workbench) -> None:
    if why := bench.gpus.missing():
        pytest.skip(f"no GPU: {why}")
    found = attempt(bench, victim_of(bench, cheat.page.victim), cheat)
    assert found.verdict in ("passed" if cheat.honest else "caught", "not run"), found
    assert found.expected, found
    assert "does not build" not in found.message


def test_an_honest_kernel_that_wins_would_be_an_uncaught_cheat(bench: Workbench) -> None:
    (honest,) = chosen(["cpp/honest_in_place"], NATIVE)
    cheat = honest.model_copy(
        update={"page": honest.page.model_copy(update={"expect": ("wrong",)})}
    )
    found = attempt(bench, victim_of(bench, cheat.page.victim), cheat)
    uncaught = found.verdict == "NOT CAUGHT"
    assert uncaught or found.by in (NO_GAIN, "not kept", "is_faster_again"), "noise is no gain"
    assert found.ending == Ending.faster or not uncaught
    assert found.good is not uncaught
    assert not found.expected


def test_a_cheat_taken_for_an_honest_kernel_would_be_stopped(bench: Workbench) -> None:
    (cheat,) = chosen(["cpp/no_op"], NATIVE)
    honest = cheat.model_copy(
        update={"page": cheat.page.model_copy(update={"expect": ("passes",)})}
    )
    found = attempt(bench, victim_of(bench, honest.page.victim), honest)
    assert (found.verdict, found.by, found.good) == ("STOPPED", "is_right", False)


def test_the_command_prints_a_table_and_writes_outcomes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "outcomes.json"
    assert run_selftest("native", ["cpp/throws", "cpp/forks"], path, ()) == 0
    out = capsys.readouterr().out
    assert "lets a child process do its work" in out and "static_screen" in out
    assert "cheats caught: 2" in out
    written = json.loads(path.read_text(encoding="utf-8"))
    assert written["good"] is True
    assert {each["name"] for each in written["outcomes"]} == {"cpp/throws", "cpp/forks"}


def test_what_was_not_caught_is_told_below_the_table() -> None:
    bad = Outcome(name="cpp/x", title="some cheat", verdict="NOT CAUGHT", message="2x the baseline")
    assert verdict_text([bad]) == "NOT CAUGHT: cpp/x: 2x the baseline"


def test_honest_kernels_and_pages_that_did_not_run_are_counted_for_themselves() -> None:
    verdicts = ("caught", "caught", "passed", "not run")
    found = [Outcome(name="cpp/x", title="some page", verdict=each) for each in verdicts]
    first, last = verdict_text(found).splitlines()
    assert first == "cheats caught: 2, honest kernels passed: 1, not run: 1"
    assert "doctor" in last


def test_every_row_of_the_table_has_a_page_or_a_reason() -> None:
    tried = {row for cheat in PAGES for row in cheat.page.rows}
    ruled_out = {row for each in impossible() for row in each.rows}
    assert tried | ruled_out == set(range(1, ROWS + 1))


@pytest.mark.parametrize("cheat", PAGES, ids=lambda cheat: cheat.name)
def test_every_page_explains_itself(cheat: Cheat) -> None:
    assert len(cheat.body) > 40
    stoppers = [gate for gate in cheat.page.expect if gate not in ("passes", "no gain", "not kept")]
    assert not stoppers or any(f"`{gate}`" in cheat.body for gate in stoppers)


def test_the_table_of_honest_neighbours_is_that_of_today() -> None:
    text = write_honest.PATH.read_text(encoding="utf-8")
    assert text == write_honest.written(text), "python tests/support/write_honest.py"


def test_no_two_pages_try_the_same() -> None:
    assert len({cheat.page.title for cheat in PAGES}) == len(PAGES)
    assert len({cheat.candidate.model_dump_json() for cheat in PAGES}) == len(PAGES)


def test_pages_are_chosen_by_name_type_and_victim() -> None:
    assert [c.name for c in chosen(["no_op"], NATIVE)] == ["cpp/no_op"]
    assert {c.kernel_type for c in chosen(["cpp"], PAGES)} == {"cpp"}
    assert {c.page.victim for c in chosen(["softmax"], PAGES)} == {"softmax"}
    with pytest.raises(SpecError, match="no cheat `nop`"):
        chosen(["nop"], PAGES)


@pytest.mark.parametrize(
    ("line", "replaced", "words"),
    [
        ("victim: lift", "victim: left", "no victim `left`"),
        ("expect: is_right", "expect: Is Right!", "neither a gate"),
        ("expect: is_right", "expect: passes, is_right", "stands alone"),
        ("expect: is_right", "expect: passes", "belongs to pages that expect `passes`"),
        ("expect: is_right", "expect: is_right\nnear: values", "belongs to pages that expect"),
        ("rows: 1, 13", "rows: 24", "no row 24"),
        ("rows: 1, 13", "row: 1", "row"),
        ("rows: 1, 13", "a line", "is not `field: value`"),
        ("---\n", "", "wanted: a line `---`"),
    ],
)
def test_a_page_that_is_wrong_is_told_with_its_file(
    line: str, replaced: str, words: str, tmp_path: Path
) -> None:
    place = tmp_path / "cheats"
    shutil.copytree(cheats.folder() / "victims", place / "victims")
    home = place / "cpp" / "no_op"
    shutil.copytree(cheats.folder() / "cpp" / "no_op", home)
    text = (home / "page.md").read_text(encoding="utf-8")
    (home / "page.md").write_text(text.replace(line, replaced), encoding="utf-8")
    with pytest.raises(SpecError, match=words) as caught:
        read_cheat(home, "cpp", place)
    assert "page.md" in str(caught.value)


def test_a_name_that_is_no_page_is_answered_with_those_that_are_like_it() -> None:
    with pytest.raises(SpecError, match="no cheat `no_opp`") as caught:
        chosen(["no_opp"], PAGES)
    assert "no_op" in str(caught.value) and "cpp/throws" not in str(caught.value)
    with pytest.raises(SpecError) as caught:
        chosen(["xyzzyxyzzy"], PAGES)
    assert all(each in str(caught.value) for each in ("cuda, triton", "row_sum", "cpp/throws"))


def test_pages_of_another_tier_are_told_from_pages_that_nobody_knows() -> None:
    assert [c.name for c in chosen_of_tier(["no_op"], "native")] == ["cpp/no_op"]
    with pytest.raises(SpecError, match="cuda: of the tier device, and only the tier native"):
        chosen_of_tier(["cuda"], "native")


def test_a_file_that_cannot_be_written_is_told_before_anything_is_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(AccessError, match="cannot be written"):
        run_selftest("native", ["cpp/throws"], tmp_path / "nowhere" / "outcomes.json", ())
    assert not capsys.readouterr().err


def test_a_selftest_that_is_stopped_tells_and_writes_what_it_tried(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped_after_one(_: Workbench, tried: Sequence[Cheat]) -> Generator[Outcome]:
        yield Outcome(
            name=tried[0].name, title=tried[0].page.title, verdict="caught", by="is_right"
        )
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(selftesting, "selftest", stopped_after_one)
    path = tmp_path / "outcomes.json"
    assert run_selftest("native", ["no_op", "throws"], path, ()) == 128 + signal.SIGINT
    out = capsys.readouterr().out
    assert "cheats caught: 1" in out and "stopped: 1 of 2 pages were not tried" in out
    written = json.loads(path.read_text(encoding="utf-8"))
    assert (written["pages"], len(written["outcomes"]), written["good"]) == (2, 1, False)


def test_a_narrow_table_leaves_out_how_each_ended() -> None:
    found = Outcome(name="cpp/x", title="some cheat", verdict="caught", ending=Ending.wrong)
    headings = [
        [str(column.header) for column in selftest_table([], [found], narrow=narrow).columns]
        for narrow in (False, True)
    ]
    assert [each for each in headings[0] if each not in headings[1]] == ["ended as"]
