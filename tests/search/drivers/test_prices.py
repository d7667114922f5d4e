"""Prices: exact sums, the dearest case, and shares that add up."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.runners.errors import SpecError
from kernelwright.search.drivers.driver import Request, Usage
from kernelwright.search.drivers.prices import by_section, cost, price_list, worst_cost

TOKENS = st.integers(0, 300_000)


def test_the_list_says_of_when_and_from_where_it_is() -> None:
    prices = price_list()
    assert date.fromisoformat(prices.as_of) and prices.source.startswith("https://")
    assert all(bands[-1].to is None for bands in prices.models.values())


def test_a_call_costs_what_its_tokens_cost_to_the_digit() -> None:
    usage = Usage(input=1001, cache_write=20_003, cache_read=30_007, output=4_009)
    # 1001 * 4 + 20003 * 5 + 30007 * 0.2 + 4009 * 20, in millionths
    assert cost("claude-opus-5-5", usage) == Decimal("0.1902004")


def test_a_long_prompt_has_the_price_of_long_prompts() -> None:
    assert cost("claude-haiku-5-5", Usage(input=100_000)) == Decimal("0.01")
    assert cost("claude-haiku-5-5", Usage(input=99_999, cache_read=2)) == Decimal("0.0499996")


def test_a_name_with_a_date_has_the_price_of_the_name() -> None:
    assert cost("claude-haiku-4-5-20251001", Usage(output=10)) == Decimal("0.00005")
    assert cost("a-model-of-mine", Usage(output=10)) is None


@settings(deadline=None)
@given(TOKENS, TOKENS, TOKENS, TOKENS, st.sampled_from(sorted(price_list().models)))
def test_no_call_costs_more_than_its_worst_case(
    read: int, written: int, cached: int, said: int, model: str
) -> None:
    usage = Usage(input=read, cache_write=written, cache_read=cached, output=said)
    request = Request(model=model, most_input=usage.total - said, most_output=said)
    found = cost(model, usage)
    assert found is not None and found <= worst_cost(request)


def test_a_budget_in_dollars_needs_a_price() -> None:
    with pytest.raises(SpecError, match="no price is known of `mine`") as caught:
        worst_cost(Request(model="mine"))
    assert "claude-opus-5-5" in caught.value.valid and "--budget-tokens" in caught.value.next_step


@settings(deadline=None)
@given(st.integers(0, 10**6), st.dictionaries(st.text(max_size=3), st.integers(1, 10**4)))
def test_shares_of_sections_add_up_to_the_whole(tokens: int, sections: dict[str, int]) -> None:
    shares = by_section(tokens, sections)
    assert sum(shares.values()) == (tokens if sections else 0)
    whole = sum(sections.values())
    assert all(abs(shares[n] - tokens * each / whole) < 1 for n, each in sections.items())
