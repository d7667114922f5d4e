"""What calls cost: prices in one dated file, exact sums, and the worst case of a call."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from importlib.resources import files

from ...runners.errors import SpecError
from ...runners.model import Record
from .driver import Request, Usage

MILLION = Decimal(1_000_000)


class Band(Record):
    """Dollars for a million tokens of a call whose prompt is not longer than `to`."""

    to: int | None = None
    """tokens of the prompt, those of caches included; None: however long it is"""
    input: Decimal
    cache_write: Decimal
    cache_read: Decimal
    output: Decimal

    def cost(self, usage: Usage) -> Decimal:
        """Dollars, exact."""
        return (
            self.input * usage.input
            + self.cache_write * usage.cache_write
            + self.cache_read * usage.cache_read
            + self.output * usage.output
        ) / MILLION


class Prices(Record):
    """The file `prices.json`."""

    as_of: str
    source: str
    unit: str
    models: dict[str, tuple[Band, ...]]
    """bands by model, those of shorter prompts first"""


@cache
def price_list() -> Prices:
    """The prices that this version knows."""
    text = files("kernelwright.search.drivers").joinpath("prices.json").read_text(encoding="utf-8")
    return Prices.model_validate(json.loads(text))


def bands_of(model: str) -> tuple[Band, ...]:
    """The prices of a model, by its name or by its name with a date behind it; none: not known."""
    known = price_list().models
    return known.get(model) or known.get(_undated(model), ())


def cost(model: str, usage: Usage) -> Decimal | None:
    """Dollars of a call, exact; None: the model has no price here."""
    prompt = usage.input + usage.cache_write + usage.cache_read
    for band in bands_of(model):
        if band.to is None or prompt <= band.to:
            return band.cost(usage)
    return None


def worst_cost(request: Request) -> Decimal:
    """Dollars that a call may cost at most: all input written to a cache or not, whichever costs
    more, in the dearest band. Raises SpecError for a model without a price."""
    bands = bands_of(request.model)
    if not bands:
        raise SpecError(
            f"no price is known of `{request.model}`, so that no budget in dollars can hold",
            valid=", ".join(price_list().models),
            next_step="leave --budget-usd out; --budget-tokens holds for every model",
        )
    most = Decimal(0)
    for band in bands:
        dearest = max(band.input, band.cache_write)
        most = max(most, dearest * request.most_input + band.output * request.most_output)
    return most / MILLION


def by_section(tokens: int, sections: Mapping[str, int]) -> dict[str, int]:
    """Tokens of a call's input, shared out in proportion to the sections' estimates, so that they
    add up: the largest remainders are rounded up."""
    whole = sum(sections.values())
    if not whole:
        return {}
    shares = {name: divmod(tokens * each, whole) for name, each in sections.items()}
    left = tokens - sum(share for share, _ in shares.values())
    up = sorted(shares, key=lambda name: -shares[name][1])[:left]
    return {name: share + (name in up) for name, (share, _) in shares.items()}


def _undated(model: str) -> str:
    """`claude-haiku-4-5` of `claude-haiku-4-5-20251001`."""
    name, _, date = model.rpartition("-")
    return name if len(date) == 8 and date.isdigit() else model
