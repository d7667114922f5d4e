"""What a model is asked once a search has stopped: the real SDK over HTTP, and no kernel built."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from asking import SEARCH, Keeping
from messages_api import MessagesApi, Refuses, Says, Step, messages_api

from kernelwright.runners import progress
from kernelwright.runners.model import Ending
from kernelwright.search.drivers.anthropic import AnthropicDriver
from kernelwright.search.drivers.command import CommandDriver
from kernelwright.search.drivers.settings import PlannerSettings
from kernelwright.search.memory import Lesson
from kernelwright.search.regraph.transition import Transition
from kernelwright.search.session.exchanges import calls_of, costs_of
from kernelwright.search.settings import Settings
from kernelwright.search.stored.experience import regraph_of
from kernelwright.search.stored.naming import names_of
from kernelwright.search.stored.recalling import in_short
from kernelwright.search.stored.records import SearchRecord
from kernelwright.server.planning.afterwards import Housekeeping
from kernelwright.store.lessons import append_memory, append_transition

RECORD = SearchRecord(
    search_id=SEARCH, kernel_id="k1", planner="anthropic", settings=Settings(), started_at=""
)
GOOD = Says('{"labels": [{"method": "increase_ilp", "existed": true}]}')
Keeps = Callable[..., tuple[MessagesApi, list[str]]]


class Heard(progress.Listener):
    """What is told as found."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def report(self, message: str) -> None:
        pass

    def found(self, message: str) -> None:
        self.said.append(message)


@pytest.fixture
def keeps(keeping: Keeping, monkeypatch: pytest.MonkeyPatch) -> Keeps:
    """Has a scripted model asked after a search that tried `my_trick`."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-nobody")
    tried(keeping, "my_trick")

    def asked(*script: Step, **changes: Any) -> tuple[MessagesApi, list[str]]:
        heard = Heard()
        with messages_api(*script) as server, progress.listening(heard):
            settings = PlannerSettings.model_validate(
                {"base_url": server.url, "backoff_s": 0, **changes}
            )
            Housekeeping(keeping.store, AnthropicDriver(settings), settings, RECORD).do()
        return server, heard.said

    return asked


def tried(keeping: Keeping, method: str, detail: str = "sums by four") -> None:
    step = Transition(
        kernel_id="k1",
        search_id=SEARCH,
        language="cpp",
        from_method="baseline",
        to_method=method,
        ending=Ending.wrong,
    )
    lesson = Lesson(
        kernel_id="k1",
        search_id=SEARCH,
        parent="v1",
        change=f"{method} {detail}",
        method=method,
        detail=detail,
        changed="source",
        ending=Ending.wrong,
        lesson="gate is_right: output y differs",
    )
    with keeping.store.transaction() as writer:
        append_transition(writer, step)
        append_memory(writer, lesson)


def test_new_names_are_classified_in_one_call_that_is_kept_and_priced(
    keeps: Keeps, keeping: Keeping
) -> None:
    tried(keeping, "your_trick")
    both = [{"method": "increase_ilp", "existed": True}, {"method": "new one", "existed": False}]
    server, _ = keeps(Says(json.dumps({"labels": both})))
    (sent,) = server.asked
    told = json.loads(sent["messages"][0]["content"][0]["text"])
    assert [each["name"] for each in told["names"]] == ["my_trick", "your_trick"]
    assert told["names"][0]["detail"] == "sums by four"
    assert "tools" not in sent
    counted = {each.name: each.counted_as for each in names_of(regraph_of(keeping.store))}
    assert counted == {"my_trick": "increase_ilp", "your_trick": "new_one"}
    assert set(costs_of(keeping.store, SEARCH).by_section) == {"relabel"}
    assert keeps(GOOD)[0].asked == [], "what was classified is not asked about again"


def test_an_answer_of_another_length_is_asked_for_once_more_and_then_rules_hold(
    keeps: Keeps, keeping: Keeping
) -> None:
    server, said = keeps(Says('{"labels": []}'))
    assert len(server.asked) == 2 and regraph_of(keeping.store).labels == ()
    assert "0 labels for 1 names" in str(server.asked[1]["messages"][-1])
    assert any("no usable answer" in each for each in said)


def test_who_does_not_answer_leaves_names_to_rules_and_loses_nothing(
    keeps: Keeps, keeping: Keeping
) -> None:
    _, said = keeps(Refuses(529, "overloaded_error"), retries=1)
    assert any(each.startswith("names of methods stay as rules have them: ") for each in said)
    _, said = keeps(GOOD, budget_usd="0.0001")
    assert any("are spent" in each for each in said)
    assert calls_of(keeping.store, SEARCH) == []
    assert keeps(GOOD, housekeeping=False)[0].asked == []
    keeps(GOOD)
    assert regraph_of(keeping.store).name("my_trick") == "increase_ilp"


def test_a_long_memory_is_put_in_short_and_counted_from_its_lines(
    keeps: Keeps, keeping: Keeping
) -> None:
    for number in range(30):
        tried(keeping, "increase_ilp", f"sums by {number}, which keeps more of them in registers")

    def says(body: dict[str, Any]) -> Says:
        told = json.loads(body["messages"][0]["content"][0]["text"])
        if "lines" not in told:
            return GOOD
        of = [each["n"] for each in told["lines"] if "increase_ilp" in each["tries"]]
        return Says(json.dumps({"groups": [{"says": "more sums spill", "of": of}]}))

    server, said = keeps(says)
    assert len(server.asked) == 2
    (short,) = (each for each in in_short(keeping.store, "k1") if each.says)
    assert (short.says, short.times, short.failed) == ("more sums spill", 30, 30)
    assert any("lines put in short, 1 groups" in each for each in said)
    tried(keeping, "increase_ilp", "sums by 3, which keeps more of them in registers")
    assert keeps(says)[0].asked == [], "nothing new is worth a call"


def test_a_program_is_asked_only_where_that_is_set(keeping: Keeping) -> None:
    tried(keeping, "my_trick")
    program = (
        "import json, sys; asked = json.load(sys.stdin); assert asked['task'] == 'relabel';"
        "print(json.dumps({'labels': [{'method': 'increase_ilp', 'existed': True}"
        " for _ in asked['data']['names']]}))"
    )
    for housekeeping, into in ((None, "my_trick"), (True, "increase_ilp")):
        settings = PlannerSettings(command=("python3", "-c", program), housekeeping=housekeeping)
        Housekeeping(keeping.store, CommandDriver(settings), settings, RECORD).do()
        assert regraph_of(keeping.store).name("my_trick") == into
