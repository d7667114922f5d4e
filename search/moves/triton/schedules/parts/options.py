"""Warps and stages that a candidate begins with, where they are parameters of the state."""

from __future__ import annotations

from ......runners.model import Candidate
from .plain import Plain


def with_options(plain: Plain, candidate: Candidate, warps: int, stages: int = 0) -> Candidate:
    """The candidate with these, as far as the spec knows them as parameters with such values."""
    wanted = {"num_warps": warps, **({"num_stages": stages} if stages else {})}
    known = plain.spec.parameters
    given = {n: v for n, v in wanted.items() if n in known and v in known[n].values}
    return candidate.model_copy(update={"parameters": given}) if given else candidate
