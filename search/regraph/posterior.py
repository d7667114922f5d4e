"""What to expect of a method in a place: posteriors that shrink to those of broader places.

A place is given by any of method, language, previous method, bottleneck and architecture, in that
order; each further one narrows it. Without data a place expects what the broader one does, and with
data it leaves that the more, the more there is.

Of a kernel in which nothing gained, only what was right counts: at its limit every method loses,
those most that would write a poor kernel anew, and says nothing of what it gains elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

from ...analysis.prior.table import ROWS
from ...analysis.rules.table import RULES
from ..moves import CANONICAL
from .tallies import Cell, ReGraph, Source, Tally, total
from .way_worth import WayWorth, way_worth

STRENGTH: Final = 4.0
"""observations that the broader place counts as; a rule of thumb"""
KERNEL_CAP: Final = 12.0
"""transitions of one kernel that count in one place at most: beyond, all of its are scaled down, so
that a kernel that was searched for long does not drown the others; a rule of thumb"""
Dimension = Literal["method", "language", "previous", "bottleneck", "arch"]
METHODS: Final[tuple[Dimension, ...]] = ("method", "previous")
ORDER: Final[tuple[Dimension, ...]] = ("method", "language", "previous", "bottleneck", "arch")
UNKNOWN: Final = frozenset({"", "unknown"})
"""bottleneck classes that say nothing"""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Expectations of one more try in a place; gains are log2 over the parent."""

    mean: float
    """of the gain of a variant that is right"""
    spread: float
    """standard deviation of the gain of one more such variant"""
    error: float
    """standard deviation of `mean`"""
    right: float
    """probability that it is right and is measured at all"""
    weight: float = 0.0
    """transitions behind it, a kernel's at most `KERNEL_CAP`"""

    @property
    def expected(self) -> float:
        """log2 that one more try adds to the best: right * E[max(gain, 0)].

        The search keeps the best, so a loss costs a build and no speed: the expected improvement of
        a normal gain, s phi(m/s) + m Phi(m/s) (Mockus 1978; Jones, Schonlau and Welch 1998).
        """
        if self.spread <= 0:
            return self.right * max(self.mean, 0.0)
        z = self.mean / self.spread
        density = math.exp(-z * z / 2) / math.sqrt(2 * math.pi)
        return self.right * (
            self.spread * density + self.mean * (1 + math.erf(z / math.sqrt(2))) / 2
        )


NOTHING_KNOWN: Final = Posterior(mean=0.0, spread=0.5, error=0.25, right=0.5)
"""before any transition: as often right as wrong, and a factor of 1.4 up or down"""


@dataclass(frozen=True, slots=True)
class Measured:
    """What a place saw, as it was counted, and by which kernels."""

    tally: Tally
    kernels: Mapping[str, int]
    """transitions by kernel"""


def updated(prior: Posterior, by_kernel: Iterable[Tally]) -> Posterior:
    """The posterior of a place with these sums, whose broader place has `prior`.

    Gain: normal with unknown mean and variance under the conjugate normal-inverse-gamma prior with
    kappa0 = nu0 = STRENGTH, mu0 the broader mean and sigma0 the broader spread (Gelman et al.,
    Bayesian Data Analysis, 3rd ed., section 3.3):
    kappa = kappa0 + n, nu = nu0 + n, mu = (kappa0 mu0 + n x) / kappa,
    nu sigma^2 = nu0 sigma0^2 + S + kappa0 n (x - mu0)^2 / kappa, with x the mean of n gains and S
    their sum of squares about it. Being right: Beta with STRENGTH observations of the broader rate
    before (ibid., section 2.4). A kernel with more than KERNEL_CAP transitions weighs as much as
    KERNEL_CAP of them.
    """
    capped = [(min(1.0, KERNEL_CAP / t.count), t) for t in by_kernel if t.count]
    count = math.fsum(w * t.count for w, t in capped)
    if not count:
        return prior
    right = math.fsum(w * t.right for w, t in capped)
    rate = (STRENGTH * prior.right + right) / (STRENGTH + count)
    n = math.fsum(w * t.gains for w, t in capped)
    mean = math.fsum(w * t.total for w, t in capped) / n if n else prior.mean
    about = max(0.0, math.fsum(w * t.squares for w, t in capped) - n * mean * mean)
    kappa = STRENGTH + n
    variance = (
        STRENGTH * prior.spread**2 + about + STRENGTH * n * (mean - prior.mean) ** 2 / kappa
    ) / kappa
    return Posterior(
        mean=(STRENGTH * prior.mean + n * mean) / kappa,
        spread=math.sqrt(variance),
        error=math.sqrt(variance / kappa),
        right=rate,
        weight=count,
    )


Values = tuple[str, ...]
ByKernel = dict[str, Tally]


class Posteriors:
    """Answers about one ReGraph; what was asked for once is remembered."""

    def __init__(self, regraph: ReGraph) -> None:
        self.regraph = regraph
        self._tables = dict[tuple[Dimension, ...], dict[Values, ByKernel]]()
        self._posteriors = dict[tuple[tuple[Dimension, ...], Values], Posterior]()

    @property
    def methods(self) -> tuple[str, ...]:
        """Every method that was tried, by name."""
        return tuple(place["method"] for place in self.places("method"))

    @property
    def edges(self) -> tuple[tuple[str, str], ...]:
        """Every method with one that it was tried after: (previous, method)."""
        found = self.places("method", "previous")
        return tuple(sorted((place["previous"], place["method"]) for place in found))

    def places(self, *dimensions: Dimension) -> tuple[dict[str, str], ...]:
        """Every place of these dimensions (in the order of `ORDER`) in which something was tried,
        sorted."""
        found = sorted(self._table(dimensions))
        return tuple(dict(zip(dimensions, values, strict=True)) for values in found)

    def average(self) -> Posterior:
        """Of any method anywhere: the broadest place."""
        return self._posterior((), ())

    def expect(self, **place: str) -> Posterior:
        """The posterior of a place, by `Dimension`; empty values narrow nothing."""
        names = self._named(place)
        return self._posterior(tuple(names), tuple(names.values()))

    def measured(self, **place: str) -> Measured:
        """What was counted in a place itself."""
        names = self._named(place)
        return _measured(self._at(tuple(names), tuple(names.values())))

    def after(self, previous: str) -> frozenset[str]:
        """The methods that were tried after another."""
        name = self.regraph.name(previous)
        return frozenset(method for before, method in self.edges if before == name)

    def fired(self, source: Source) -> tuple[str, ...]:
        """Every rule that had fired on a state from which something was tried; or every skill
        behind such a rule."""
        cells = (cell for search in self.regraph.searches for cell in search.fired)
        return tuple(sorted({cell.id for cell in cells if cell.source == source}))

    def brought(self, source: Source, of: str) -> tuple[Posterior, Measured]:
        """What a rule brought where it had fired: transitions by the methods that it asks for. Of
        a skill: where a rule had pointed to it, by those methods and by its own."""
        asked, kernels = asked_by(source, of), dict[str, list[Tally]]()
        for search in self.regraph.searches:
            for cell in search.fired:
                method = self.regraph.name(cell.method)
                if (cell.source, cell.id) == (source, of) and method in asked:
                    kernels.setdefault(search.kernel_id, []).append(cell.tally)
        found = _summed(kernels)
        return updated(self.average(), self._telling(found)), _measured(found)

    def ways(self, language: str) -> WayWorth:
        """What ways of methods are worth beside what else can be tried, in this language."""
        sums = dict[tuple[str, str], dict[str, tuple[int, float]]]()
        for search in self.regraph.searches:
            if search.kernel_id not in self._gained:
                continue
            for each in search.ways:
                if each.language == language and each.compared:
                    place = sums.setdefault((self.regraph.name(each.method), each.way), {})
                    count, ahead = place.get(search.kernel_id, (0, 0.0))
                    place[search.kernel_id] = count + each.compared, ahead + each.ahead
        return way_worth(
            {
                place: {kernel: ahead / count for kernel, (count, ahead) in kernels.items()}
                for place, kernels in sorted(sums.items())
            }
        )

    def _named(self, place: Mapping[str, str]) -> dict[Dimension, str]:
        named = dict[Dimension, str]()
        for each in ORDER:
            if place.get(each, "") not in UNKNOWN:
                named[each] = place[each]
        for each in METHODS:
            if each in named:
                named[each] = self.regraph.name(named[each])
        return named

    def _posterior(self, dimensions: tuple[Dimension, ...], values: Values) -> Posterior:
        place = dimensions, values
        if place not in self._posteriors:
            broader = self._posterior(dimensions[:-1], values[:-1]) if values else NOTHING_KNOWN
            self._posteriors[place] = updated(broader, self._telling(self._at(dimensions, values)))
        return self._posteriors[place]

    @cached_property
    def _gained(self) -> frozenset[str]:
        """The kernels that some step made faster."""
        return frozenset(
            search.kernel_id
            for search in self.regraph.searches
            if any(cell.tally.better for cell in search.cells)
        )

    def _telling(self, found: ByKernel) -> list[Tally]:
        """By kernel, what says something of other kernels."""
        return [
            tally if kernel in self._gained else Tally(count=tally.count, right=tally.right)
            for kernel, tally in found.items()
        ]

    def _at(self, dimensions: tuple[Dimension, ...], values: Values) -> ByKernel:
        return self._table(dimensions).get(values, {})

    def _table(self, dimensions: tuple[Dimension, ...]) -> dict[Values, ByKernel]:
        """The sums of every place that is given by these dimensions."""
        if dimensions not in self._tables:
            cells = dict[Values, dict[str, list[Tally]]]()
            for search in self.regraph.searches:
                for cell in search.cells:
                    values = tuple(self._value(cell, each) for each in dimensions)
                    kernels = cells.setdefault(values, {})
                    kernels.setdefault(search.kernel_id, []).append(cell.tally)
            self._tables[dimensions] = {values: _summed(found) for values, found in cells.items()}
        return self._tables[dimensions]

    def _value(self, cell: Cell, dimension: Dimension) -> str:
        match dimension:
            case "method":
                return self.regraph.name(cell.method)
            case "previous":
                return self.regraph.name(cell.previous)
            case "language":
                return cell.language
            case "bottleneck":
                return cell.bottleneck
            case "arch":
                return cell.arch


def asked_by(source: Source, of: str) -> frozenset[str]:
    """The methods that the prior's table names with a weight above 1 for a rule, and those whose
    page explains it. Of a skill: those that it is the page of, and those that its rules ask for."""
    page = next((rule.skill for rule in RULES if rule.id == of), "") if source == "rule" else of
    rules = {of} if source == "rule" else {rule.id for rule in RULES if rule.skill == of}
    own = {method.id for method in CANONICAL.values() if page and method.skill == page}
    return frozenset(own | {row.move for row in ROWS if row.signal in rules and row.weight > 1})


def _summed(kernels: Mapping[str, list[Tally]]) -> ByKernel:
    return {kernel: total(tallies) for kernel, tallies in kernels.items()}


def _measured(found: ByKernel) -> Measured:
    return Measured(total(found.values()), {k: found[k].count for k in sorted(found)})
