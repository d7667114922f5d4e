"""What a watched program told of its operators."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from ....deploy.reading import Key, Made, frozen
from ....deploy.watching import ROWS
from ...errors import AccessError, HandleUnknown


@dataclass(frozen=True, slots=True)
class SeenOperator:
    """Calls that are alike: the same operator, shapes, strides, types and numbers."""

    label: str
    """`o0` takes most time"""
    operator: str
    """`aten::linalg_vector_norm`, with its overload behind a dot"""
    key: Key
    made: tuple[Made, ...]
    count: int
    ns: int
    """of all calls; of the first, which has one-time work in it, what the others took"""
    why_not: str
    """why nothing may take its place; empty: something may"""
    kept: Path | None
    """tensors of its first call"""
    host_ns: int = 0
    """of `ns` until the calls returned: on a GPU their work goes on then; 0: it is not known"""

    @property
    def tensors(self) -> tuple[Made, ...]:
        """What it is given, in order."""
        return tuple(_tensors(self.key))

    @property
    def device(self) -> str:
        """`cpu` or `cuda`, of its first tensor."""
        return next((str(each[4]) for each in _parts(self.key)), "cpu")


@dataclass(frozen=True, slots=True)
class SeenOperators:
    """Operators of the process that spent most time in them; most time first."""

    rows: tuple[SeenOperator, ...]
    folder: Path
    others: int = 0
    """processes beside it that called operators"""

    @property
    def ns(self) -> int:
        """Of all of them."""
        return sum(each.ns for each in self.rows)

    def labelled(self, label: str) -> SeenOperator:
        """One by its label. Raises HandleUnknown."""
        found = next((each for each in self.rows if each.label == label), None)
        if found is None:
            raise HandleUnknown(
                f"no operator of this recording is called {label}",
                valid=", ".join(each.label for each in self.rows[:12]),
                next_step="labels are in the report",
            )
        return found


def seen_operators(folder: Path) -> SeenOperators | None:
    """What is in the folder of a recording's processes; None where no process called any."""
    found = [_process(file) for file in sorted(folder.glob(f"*/{ROWS}"))]
    most = max(found, key=lambda each: (each.ns, len(each.rows)), default=None)
    return None if most is None else replace(most, others=len(found) - 1)


def operators_of(folder: Path) -> SeenOperators:
    """The same. Raises AccessError where there are none."""
    found = seen_operators(folder)
    if found is None:
        raise AccessError(
            f"{folder} holds no operators",
            next_step="record the program with front torch (--front torch)",
        )
    return found


def _process(file: Path) -> SeenOperators:
    told = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    told.sort(key=lambda each: -_of_all(each, "ns"))
    operators = tuple(_labelled(f"o{n}", each, file.parent) for n, each in enumerate(told))
    return SeenOperators(operators, file.parent)


def _of_all(told: dict[str, Any], time: str) -> int:
    """With the time of the first call, taken for that of the others."""
    count, ns = int(told["count"]), int(told.get(time, 0))
    return ns * count // (count - 1) if count > 1 else 0


def _labelled(label: str, told: dict[str, Any], folder: Path) -> SeenOperator:
    return SeenOperator(
        label=label,
        operator=told["operator"],
        key=frozen(told["key"]),
        made=tuple(_tensors(frozen(told["made"]))),
        count=told["count"],
        ns=_of_all(told, "ns"),
        why_not=told["why_not"],
        kept=folder / told["kept"] if told["kept"] else None,
        host_ns=_of_all(told, "host_ns"),
    )


def is_tensor(value: Any) -> bool:
    """Whether a part of a key stands for a tensor."""
    return isinstance(value, tuple) and cast("tuple[Any, ...]", value)[:1] == ("tensor",)


def _tensors(key: Any) -> list[Made]:
    return [Made(each[1], each[2], each[3]) for each in _parts(key)]


def _parts(key: Any) -> Iterator[Any]:
    """What stands for the tensors of a key, in order."""
    if is_tensor(key):
        yield key
    elif isinstance(key, tuple):
        for each in cast("tuple[Any, ...]", key):
            yield from _parts(each)
