"""What a planner is told of one variant: sections of Markdown, each with a budget of tokens.

One brief for everybody who plans: a client, a model behind an API, a program, a person who reads.
What is stable stands first, so that a prompt cache can keep it from question to question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

from ...runners.model import Record

BYTES_A_TOKEN = 3
"""of source code and terse English, as tokenizers of 2025 and later count them about; prose has up
to 5, so that a count by this is rather too large. What a call really cost, its reply says."""


SameFor = Literal["kernel", "lineage", "variant"]
"""what a section is the same text for: every variant of a kernel; a variant and those that come of
it; that variant alone. A brief has them in this order, and a prompt cache keeps the first two."""


class Section(Record):
    """One part of a brief."""

    name: str
    title: str
    text: str
    """Markdown, without the title"""
    tokens: int
    """of title and text, estimated (`tokens_of`)"""
    left_out: int = 0
    """blocks for which the budget had no room"""
    same_for: SameFor = "variant"

    def markdown(self) -> str:
        """Title and text."""
        return f"## {self.title}\n\n{self.text}\n"


class Brief(Record):
    """All that a planner is told of a variant."""

    kernel_id: str
    variant_id: str
    sections: tuple[Section, ...]

    @property
    def tokens(self) -> int:
        """Of all sections, estimated."""
        return sum(section.tokens for section in self.sections)

    @property
    def ledger(self) -> dict[str, int]:
        """Estimated tokens by section."""
        return {section.name: section.tokens for section in self.sections}

    def part(self, same_for: SameFor) -> str:
        """The sections that are the same for so many, as Markdown; empty where there are none."""
        return "\n".join(s.markdown() for s in self.sections if s.same_for == same_for)

    @property
    def text(self) -> str:
        """All sections as Markdown."""
        return "\n".join(section.markdown() for section in self.sections)

    def markdown(self) -> str:
        """The whole brief for people, with what each section costs at the end."""
        costs = ", ".join(f"{name} {tokens}" for name, tokens in self.ledger.items())
        head = f"# Variant {self.variant_id} of {self.kernel_id}\n"
        foot = f"<!-- about {self.tokens} tokens: {costs} -->\n"
        return "\n".join((head, self.text, foot))


def tokens_of(text: str) -> int:
    """How many tokens a text has, about; by `BYTES_A_TOKEN`, rounded up."""
    return -(-len(text.encode()) // BYTES_A_TOKEN)


def section(
    name: str,
    title: str,
    blocks: Iterable[str],
    budget: int,
    *,
    more: str = "",
    apart: str = "\n",
    same_for: SameFor = "variant",
) -> Section | None:
    """A section of as many whole blocks, in their order, as a budget of tokens has room for; None
    where there are no blocks.

    A block is what must not be cut: a source, a page, a line of a list. `more`: where the others
    can be read, in words. `apart`: what stands between two blocks.
    """
    given = [block for block in blocks if block]
    if not given:
        return None
    kept = _fitting(given, budget, apart)
    left_out = len(given) - len(kept)
    text = apart.join((*kept, *((_left(left_out, more),) if left_out else ())))
    return Section(
        name=name,
        title=title,
        text=text,
        tokens=tokens_of(f"## {title}\n\n{text}\n"),
        left_out=left_out,
        same_for=same_for,
    )


def code_block(language: str, source: str) -> str:
    """A source as Markdown, its fence longer than any within."""
    longest = max((len(run) for run in _runs_of_backticks(source)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{source.rstrip(chr(10))}\n{fence}"


def _runs_of_backticks(text: str) -> list[str]:
    return [run for run in "".join(c if c == "`" else " " for c in text).split() if run]


def _fitting(blocks: Sequence[str], budget: int, apart: str) -> list[str]:
    kept, spent = list[str](), 0
    for block in blocks:
        spent += tokens_of(block + apart)
        if spent > budget:
            break
        kept.append(block)
    return kept


def _left(count: int, more: str) -> str:
    return f"({count} left out for length{f': {more}' if more else ''})"
