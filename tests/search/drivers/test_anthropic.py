"""The driver `anthropic`: the real SDK over HTTP, against a scripted Messages API on loopback."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from asking import CANDIDATE, Keeping, asked, looks
from messages_api import MessagesApi, Refuses, Says, Step, candidates, messages_api

from kernelwright.runners.errors import BudgetSpent, PlannerFailed
from kernelwright.search.applying.sent import SentCandidate
from kernelwright.search.drivers.anthropic import (
    ANSWER_NOW,
    GO_ON,
    AnthropicDriver,
    Conversation,
    Prompt,
)
from kernelwright.search.drivers.driver import ModelTool
from kernelwright.search.drivers.settings import PlannerSettings
from kernelwright.search.session.exchanges import calls_of, costs_of

GOOD = Says(candidates(CANDIDATE))
KEY = "sk-not-a-key-of-anybody"
Proposing = Callable[..., tuple[tuple[SentCandidate, ...], MessagesApi]]


@pytest.fixture
def proposing(keeping: Keeping, monkeypatch: pytest.MonkeyPatch) -> Proposing:
    """Asks once with a script, in one store, and gives what was proposed and the server."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)

    def propose(
        *script: Step, tools: tuple[ModelTool, ...] = (), ticket: str = "t1", **changes: Any
    ) -> tuple[tuple[SentCandidate, ...], MessagesApi]:
        with messages_api(*script) as server:
            settings = PlannerSettings.model_validate({"base_url": server.url, **changes})
            driver = AnthropicDriver(settings)
            found = driver.propose(asked(tools), keeping.exchanges(settings, ticket))
        return found, server

    return propose


def test_an_answer_is_taken_and_what_is_stable_is_cached(proposing: Proposing) -> None:
    found, server = proposing(GOOD, effort="high", thinking="adaptive")
    assert [each.parameters for each in found] == [{"UNROLL": 4}]
    (sent,) = server.asked
    assert sent["model"] == "claude-opus-5-5" and sent["stream"] is True
    assert sent["output_config"] == {"effort": "high"} and sent["thinking"] == {"type": "adaptive"}
    (system,) = sent["system"]
    assert system["text"].startswith("## Contract")
    assert system["cache_control"] == {"type": "ephemeral"}
    assert sent["messages"][0]["content"][0]["text"].startswith("## Source")


def test_what_a_lineage_shares_is_a_cached_block_before_what_is_the_variants_own() -> None:
    prompt = Prompt("the kernel's", "the variant's", {}, lineage="the lineage's")
    body = Conversation(prompt, PlannerSettings()).body()
    told = [*body["system"], *body["messages"][0]["content"]]
    assert [each["text"] for each in told] == ["the kernel's", "the lineage's", "the variant's"]
    assert all(each["cache_control"] == {"type": "ephemeral"} for each in told)


def test_tokens_and_dollars_are_kept_by_model_and_section_to_the_digit(
    proposing: Proposing, keeping: Keeping
) -> None:
    usage = {
        "input_tokens": 101,
        "cache_creation_input_tokens": 2003,
        "cache_read_input_tokens": 30_007,
        "output_tokens": 509,
    }
    proposing(Says(candidates(CANDIDATE), usage=usage))
    costs = costs_of(keeping.store, "s1")
    # 101 * 4 + 2003 * 5 + 30007 * 0.2 + 509 * 20, in millionths
    assert costs.all.usd == Decimal("0.0266004")
    assert costs.by_model == {"claude-opus-5-5": costs.all}
    assert costs.all.usage.model_dump() == dict(
        input=101, cache_write=2003, cache_read=30_007, output=509
    )
    assert sum(costs.by_section.values()) == 101 + 2003 + 30_007
    assert set(costs.by_section) == {"contract", "source"}
    assert costs.all.describe() == "1 call, 32,620 tokens (30,007 from the cache), $0.0266004"


def test_a_model_looks_before_it_answers(proposing: Proposing) -> None:
    seen: list[Any] = []
    tool = looks({"v1": "the diff"}, seen)
    asks = Says("Let me look.", calls=(("inspect", {"id": "v1"}), ("inspect", {"id": "v2"})))
    found, server = proposing(asks, GOOD, tools=(tool,))
    assert found and seen == [{"id": "v1"}, {"id": "v2"}]
    first, second = server.asked
    assert [each["name"] for each in first["tools"]] == ["inspect"]
    said, results = second["messages"][1:]
    assert [block["type"] for block in said["content"]] == ["text", "tool_use", "tool_use"]
    assert [block["content"] for block in results["content"]] == ["the diff", "nothing of that id"]


def test_a_tool_that_is_none_is_told(proposing: Proposing) -> None:
    tool = looks({}, [])
    found, server = proposing(Says(calls=(("rm", {}),)), GOOD, tools=(tool,))
    assert found
    (result,) = server.asked[1]["messages"][2]["content"]
    assert result["is_error"] and result["content"] == "no such tool; there are: inspect"


def test_a_model_that_never_stops_looking_is_told_to_answer_and_then_left(
    proposing: Proposing,
) -> None:
    seen: list[Any] = []
    endless = Says(calls=(("inspect", {"id": "v1"}),))
    found, server = proposing(endless, tools=(looks({}, seen),), tool_rounds=2)
    assert found == () and len(seen) == 2
    assert ANSWER_NOW in str(server.asked[3]["messages"][-1])
    assert len(server.asked) <= 6


def test_a_truncated_answer_is_gone_on_with(proposing: Proposing) -> None:
    whole = candidates(CANDIDATE)
    found, server = proposing(Says(whole[:40], stop="max_tokens"), Says(whole[40:]))
    assert [each.method for each in found] == ["unroll"]
    said, on = server.asked[1]["messages"][1:]
    assert said["content"][0]["text"] == whole[:40].rstrip()
    assert on["content"][0]["text"] == GO_ON


@pytest.mark.parametrize("bad", ["I think that it is fine.", '{"candidates": [{"method"', "{}"])
def test_what_cannot_be_used_is_asked_for_once_more_with_the_reason(
    proposing: Proposing, bad: str
) -> None:
    found, server = proposing(Says(bad), GOOD)
    assert found and len(server.asked) == 2
    assert "This could not be used. the answer holds no candidates" in str(
        server.asked[1]["messages"][-1]
    )
    again, server = proposing(Says(bad), ticket="t2")
    assert again == () and len(server.asked) == 2


def test_a_refusal_ends_the_question_and_not_the_search(proposing: Proposing) -> None:
    found, server = proposing(Says("I cannot", stop="refusal"))
    assert found == () and len(server.asked) == 1


@pytest.mark.parametrize(
    "fault",
    [
        Refuses(529, "overloaded_error"),
        Refuses(429, "rate_limit_error", retry_after="7"),
        Refuses(500),
        Says("half", breaks=True),
        Says("half", error="overloaded_error"),
    ],
    ids=["overloaded", "rate limit", "server error", "stream breaks off", "error in the stream"],
)
def test_what_passes_is_tried_again_after_a_pause(
    proposing: Proposing, keeping: Keeping, fault: Step
) -> None:
    found, server = proposing(fault, fault, GOOD)
    assert found and len(server.asked) == 3
    asks = isinstance(fault, Refuses) and fault.retry_after
    assert keeping.pauses == ([7.0, 7.0] if asks else [1.0, 2.0])


def test_what_a_broken_stream_cost_is_counted(proposing: Proposing, keeping: Keeping) -> None:
    proposing(Says("half", breaks=True), GOOD)
    broken, whole = calls_of(keeping.store, "s1")
    assert broken.returned.stop == "broken" and broken.returned.text == "half"
    # 1000 * 4 + 1 * 20, and 1000 * 4 + 100 * 20, in millionths
    assert (broken.usd, whole.usd) == (Decimal("0.00402"), Decimal("0.006"))


def test_a_service_that_stays_away_is_told_and_asked_anew_by_the_next_run(
    proposing: Proposing, keeping: Keeping
) -> None:
    with pytest.raises(PlannerFailed, match="529 scripted 529, 3 times") as caught:
        proposing(Refuses(529, "overloaded_error"), retries=2)
    assert "--resume" in caught.value.next_step
    assert calls_of(keeping.store, "s1") == []
    assert proposing(GOOD)[0]


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (401, "a key in ANTHROPIC_API_KEY"),
        (404, "`claude-opus-5-5` is none"),
        (400, "the settings"),
    ],
)
def test_what_stays_is_told_at_once(proposing: Proposing, status: int, told: str) -> None:
    with pytest.raises(PlannerFailed, match=f"{status} scripted") as caught:
        proposing(Refuses(status, "invalid_request_error"))
    assert told in str(caught.value)


def test_without_a_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(PlannerFailed, match="no key") as caught:
        AnthropicDriver(PlannerSettings())
    assert "planner rules needs nobody" in str(caught.value)


def test_where_nobody_answers_the_network_is_named(
    keeping: Keeping, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with messages_api(GOOD) as server:
        url = server.url
    settings = PlannerSettings(base_url=url, retries=1)
    with pytest.raises(PlannerFailed, match="was not reached"):
        AnthropicDriver(settings).propose(asked(), keeping.exchanges(settings))
    assert len(keeping.pauses) == 1


def test_the_key_is_sent_and_written_down_nowhere(proposing: Proposing, keeping: Keeping) -> None:
    _, server = proposing(GOOD)
    assert KEY in server.headers[0].get("x-api-key", server.headers[0].get("authorization", ""))
    kept = b"".join(file.read_bytes() for file in keeping.folder.glob("*sqlite*"))
    assert KEY.encode() not in kept


def test_a_call_that_could_cost_too_much_is_not_made(
    proposing: Proposing, keeping: Keeping
) -> None:
    with pytest.raises(BudgetSpent, match=r"\$0.0000 of \$0.01 are spent"):
        proposing(GOOD, budget_usd="0.01")  # 16,000 tokens of answer alone are $0.32
    with pytest.raises(BudgetSpent, match="0 of 500 tokens are spent"):
        proposing(GOOD, budget_tokens=500)
    assert calls_of(keeping.store, "s1") == []
    found, server = proposing(GOOD, budget_usd="0.4", ticket="t2")
    assert found and len(server.asked) == 1
    with pytest.raises(BudgetSpent, match=r"\$0.0060 of"):
        proposing(GOOD, budget_usd="0.33", ticket="t3")


def test_a_model_without_a_price_holds_a_budget_in_tokens_alone(proposing: Proposing) -> None:
    assert proposing(GOOD, model="mine", budget_tokens=100_000)[0]
    with pytest.raises(Exception, match="no price is known of `mine`"):
        proposing(GOOD, model="mine", budget_usd="5", ticket="t2")


def test_a_killed_run_pays_for_no_call_twice(proposing: Proposing, keeping: Keeping) -> None:
    look = Says(calls=(("inspect", {"id": "v1"}),))
    with pytest.raises(PlannerFailed):
        proposing(look, Refuses(529), tools=(looks({}, []),), retries=0)
    found, server = proposing(GOOD, tools=(looks({}, []),))
    assert found and len(server.asked) == 1
    assert server.asked[0]["messages"][1]["content"][0]["type"] == "tool_use"
    again, server = proposing(GOOD, tools=(looks({}, []),))
    assert again == found and server.asked == []
    assert costs_of(keeping.store, "s1").all.calls == 2
