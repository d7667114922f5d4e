"""How well free-text names are classified into the catalogue by their words, without a model.

    python benchmarks/relabel.py [--result FILE]

`data/method_names.json` has names of methods as an engineer may write them, each with the method of
the catalogue that it means, or nothing where it means none. They were written for this purpose,
before the classifier was tried, by who wrote the classifier. The even ones chose its threshold
(`likeness.SURE`), the odd ones judge: what is merged rightly, wrongly (into another method, or
though it means none), and left alone though it means one, by the spelling alone and by words.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from environment import RESULTS, write

from kernelwright.search.moves import CANONICAL, canonical_method
from kernelwright.search.regraph.likeness import SURE
from kernelwright.search.regraph.synonyms import meant, synonyms

NAMES = Path(__file__).parent / "data" / "method_names.json"
THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


def main() -> None:
    """Count, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--result", type=Path, default=RESULTS / "relabel.json")
    asked = parser.parse_args()
    result = both(json.loads(NAMES.read_text(encoding="utf-8")))
    for half, found in result["halves"].items():
        print(half, json.dumps(found))
    print(f"written to {write('relabel', result, asked.result)}")


def both(names: Mapping[str, str]) -> dict[str, Any]:
    """The half that chose and the half that judges."""
    items = list(names.items())
    halves = {"chose the threshold": dict(items[::2]), "judges": dict(items[1::2])}
    return {
        "threshold": SURE,
        "halves": {
            half: {
                "spelling alone": counted(held, by_spelling),
                "as the product does": counted(held, classified),
                **{f"words from {t}": counted(held, by_words(t)) for t in THRESHOLDS},
            }
            for half, held in halves.items()
        },
    }


def counted(names: Mapping[str, str], classify: Callable[[str], str]) -> dict[str, int]:
    """`classify` gives a method of the catalogue, or nothing."""
    found = {name: classify(name) for name in names}
    return {
        "names": len(names),
        "mean one": sum(bool(method) for method in names.values()),
        "right": sum(bool(found[n]) and found[n] == names[n] for n in names),
        "wrong": sum(bool(found[n]) and found[n] != names[n] for n in names),
    }


def by_spelling(name: str) -> str:
    """As free text is matched when it comes in."""
    method = canonical_method(name)
    return method if method in CANONICAL else ""


def by_words(least: float) -> Callable[[str], str]:
    """By the cosine of words alone, from a threshold on."""

    def classify(name: str) -> str:
        method, cosine = meant(name)
        return method if cosine >= least else ""

    return classify


def classified(name: str) -> str:
    """All rules together, as the ReGraph counts names."""
    slug = canonical_method(name)
    merged = synonyms({slug: 1}).get(slug)
    method = slug if merged is None else merged.into
    return method if method in CANONICAL else ""


if __name__ == "__main__":
    main()
