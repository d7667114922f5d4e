"""An answer as text, from a model or a program, and the candidates in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Final, cast

from pydantic import ValidationError

from ...runners import progress
from ...runners.errors import SpecError
from ...runners.wording import shortened
from ..applying.sent import SentCandidate, renamed

MOST_BYTES: Final = 2 << 20
"""of an answer: two sources of the largest size"""
MOST_CANDIDATES: Final = 32
"""as many as a client may send at once; later ones are left out"""
_FORM: Final = '{"candidates": [{"method": ..., "detail": ..., "source": ...}]}'


def read_reply(text: str) -> tuple[SentCandidate, ...]:
    """The candidates of an answer: the first JSON object in it with the field `candidates`, or with
    that of a candidate; what stands around it is left out. None: nothing more to try.

    Candidates that are none are left out while there is another one. Raises SpecError that says
    what is wrong with an answer of which nothing can be used.
    """
    found, wrong = _read(text)
    if wrong and not found:
        raise SpecError("; ".join(wrong[:5]), valid=_FORM)
    return found


def take_reply(text: str) -> tuple[SentCandidate, ...]:
    """As `read_reply`; whoever waits is told of those that were left out."""
    found = read_reply(text)
    for line in _read(text)[1][:5]:
        progress.found(f"left out of the answer: {line}")
    return found


def _read(text: str) -> tuple[tuple[SentCandidate, ...], list[str]]:
    """Candidates, and what is wrong with those that are none."""
    given = _candidates_in(text)[:MOST_CANDIDATES]
    found, wrong = list[SentCandidate](), list[str]()
    for number, each in enumerate(given):
        try:
            found.append(SentCandidate.model_validate(_named(each)))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, ("candidates", number, *first["loc"])))
            wrong.append(f"{where}: {first['msg']}")
    return tuple(found), wrong


def _named(given: Any) -> Any:
    """A candidate under our names of fields, as a client's are read."""
    return renamed(cast("dict[str, Any]", given)) if isinstance(given, dict) else given


def object_in(text: str, field: str, form: str) -> dict[str, Any]:
    """The first JSON object in a text that has a list under a field; what stands around it is left
    out. Raises SpecError that says why there is none; `form`: what is asked for."""
    found, fault = first_object(text, lambda each: isinstance(each.get(field), list))
    if found is None:
        told = fault or f"a JSON object without a list `{field}`"
        raise SpecError(f"the answer holds no {field}: {told}", valid=form)
    return found


def first_object(
    text: str, wanted: Callable[[dict[str, Any]], bool]
) -> tuple[dict[str, Any] | None, str]:
    """The first JSON object of a text that is wanted; None with the fault of the first that could
    not be read, or that there is no object, or nothing where others were none that is wanted.
    Raises SpecError where the text is too long."""
    if len(text.encode()) > MOST_BYTES:
        most = f"{MOST_BYTES >> 20} MiB"  # of a program's output no more is read than says so
        raise SpecError(f"the answer has more than {most}", valid=f"up to {most}")
    decoder, at, fault, seen = json.JSONDecoder(), text.find("{"), "", False
    while at >= 0:
        try:
            found: Any = decoder.raw_decode(text, at)[0]
        except (ValueError, RecursionError) as error:
            fault = fault or f"broken JSON: {error}"
        else:
            if wanted(found):
                return found, ""
            seen = True
        at = text.find("{", at + 1)
    return None, fault or ("" if seen else f"no JSON object in {shortened(text, 80)!r}")


def _candidates_in(text: str) -> list[Any]:
    found, fault = first_object(
        text, lambda each: isinstance(each.get("candidates"), list) or "method" in each
    )
    if found is None:
        told = fault or "a JSON object without `candidates`"
        raise SpecError(f"the answer holds no candidates: {told}", valid=_FORM)
    given = found.get("candidates")
    return cast("list[Any]", given) if isinstance(given, list) else [found]
