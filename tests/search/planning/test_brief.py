"""Sections of a brief: what is kept, what is left out, what they cost."""

from __future__ import annotations

from any_text import CHARACTERS
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.search.planning.brief import Brief, code_block, section, tokens_of

TEXTS = st.lists(st.text(CHARACTERS, min_size=1, max_size=60), min_size=1, max_size=12)


def test_tokens_are_bytes_over_three_rounded_up() -> None:
    assert [tokens_of(text) for text in ("", "a", "abc", "abcd", "é")] == [0, 1, 1, 2, 1]


@settings(deadline=None)
@given(TEXTS, st.integers(0, 200))
def test_a_budget_keeps_whole_blocks_from_the_front_and_counts_the_others(
    blocks: list[str], budget: int
) -> None:
    made = section("name", "Title", blocks, budget, more="elsewhere", apart="\n\n")
    assert made is not None
    kept = blocks[: len(blocks) - made.left_out]
    assert sum(tokens_of(block + "\n\n") for block in kept) <= budget
    note = [f"({made.left_out} left out for length: elsewhere)"] if made.left_out else []
    assert made.text == "\n\n".join((*kept, *note))
    assert made.tokens == tokens_of(made.markdown())


def test_a_source_that_is_too_long_is_left_out_whole() -> None:
    source = code_block("cpp", "int x;\n" * 1000)
    made = section("source", "Source", [source], 100, more="inspect variant v1, part source")
    assert made is not None
    assert made.text == "(1 left out for length: inspect variant v1, part source)"


def test_nothing_to_say_is_no_section() -> None:
    assert section("name", "Title", ["", ""], 100) is None


def test_a_fence_is_longer_than_any_within() -> None:
    assert code_block("", "a ``` b").splitlines()[0] == "````"
    assert code_block("py", "x").splitlines() == ["```py", "x", "```"]


def test_what_is_stable_is_apart_from_what_changes() -> None:
    first = section("contract", "Contract", ["n: 1 to 9"], 100, same_for="kernel")
    second = section("source", "Source", ["int x;"], 100)
    assert first is not None and second is not None
    brief = Brief(kernel_id="k", variant_id="v", sections=(first, second))
    assert brief.part("kernel") == "## Contract\n\nn: 1 to 9\n"
    assert brief.part("variant") == "## Source\n\nint x;\n"
    assert brief.ledger == {"contract": first.tokens, "source": second.tokens}
    assert f"about {first.tokens + second.tokens} tokens" in brief.markdown()
