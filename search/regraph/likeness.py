"""Which method of the catalogue free words are most like, without a model; pure.

Names and methods are bags of stems weighted by how few methods have them (tf-idf), and their cosine
says how like they are (Salton and Buckley 1988, Term-weighting approaches in automatic text
retrieval). A method's text is its id, its meaning, and the aliases that the tables know of it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final

SURE: Final = 0.4
"""cosine from which words mean a method: the least, of steps of 0.05, with which none of the even
half of `method_names.json` is merged wrongly (`benchmarks/relabel.py`; the odd half judges)"""
STOP: Final = frozenset(
    "a add an and apply as at be before by can do each enable for from how in instead into is it"
    " not of on one or other out so than that the their them they this to up use using via what"
    " where which while with".split()
)
"""words that say nothing of what is done"""
ENDINGS: Final = (
    "isations", "izations", "isation", "ization", "ations", "ising", "izing", "ation", "ised",
    "ized", "ises", "izes", "ings", "ions", "ing", "ion", "ers", "ise", "ize", "ed", "er", "es",
    "s", "e",
)  # fmt: skip
"""that are cut off a word, the longest first; three letters stay at least"""


@lru_cache(maxsize=4096)
def stems(text: str) -> tuple[str, ...]:
    """The words that say something, without their endings; letters and digits alone count."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return tuple(_stem(word) for word in words if word not in STOP and len(word) > 1)


class Likeness:
    """Texts by name, and how like words are to each of them."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        counted = {name: Counter(stems(text)) for name, text in texts.items()}
        self._having = Counter(stem for stems_of in counted.values() for stem in stems_of)
        self._count = len(counted)
        self._vectors = {name: self._vector(stems_of) for name, stems_of in counted.items()}

    def nearest(self, words: str) -> tuple[str, float]:
        """The name whose text is most like some words, and their cosine, 0 to 1; the first of equal
        ones. Empty where there are no texts."""
        asked = self._vector(Counter(stems(words)))
        found = ((name, _dot(asked, vector)) for name, vector in self._vectors.items())
        return max(found, key=lambda each: each[1], default=("", 0.0))

    def _vector(self, counted: Mapping[str, int]) -> dict[str, float]:
        """1 + log of the count times log((N + 1) / (n + 1)) + 1, of length 1."""
        raw = {
            stem: (1 + math.log(times))
            * (1 + math.log((self._count + 1) / (self._having[stem] + 1)))
            for stem, times in counted.items()
        }
        length = math.sqrt(math.fsum(x * x for x in raw.values()))
        return {stem: x / length for stem, x in raw.items()}


def texts_of(meanings: Iterable[tuple[str, str]], aliases: Mapping[str, str]) -> dict[str, str]:
    """By method: id, meaning and aliases as one text. `meanings`: id and meaning of each."""
    return {
        name: " ".join((name, meaning, *(other for other, into in aliases.items() if into == name)))
        .replace("_", " ")
        for name, meaning in meanings
    }  # fmt: skip


def _dot(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    return math.fsum(x * other[stem] for stem, x in one.items() if stem in other)


def _stem(word: str) -> str:
    cut = next((e for e in ENDINGS if word.endswith(e) and len(word) - len(e) >= 3), "")
    return word.removesuffix(cut)
