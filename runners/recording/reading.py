"""From the files of a recording to values. Raises AccessError for what is no recording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import AccessError
from .recorded import Configuration, Elsewhere, Function, Recording, Size3

SUMMARY = "summary.json"


def read_recordings(folder: Path) -> tuple[Recording, ...]:
    """Every process of a program that launched something, the busiest first."""
    found = [read_recording(each.parent) for each in sorted(folder.glob(f"*/{SUMMARY}"))]
    busy = [each for each in found if each.launches]
    return tuple(sorted(busy, key=lambda each: -each.launches))


def read_recording(folder: Path) -> Recording:
    """The recording of one process."""
    try:
        return _read(folder)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        raise AccessError(
            f"{folder} holds no recording that can be read: {type(error).__name__}: {error}",
            valid="a folder that `kernelwright record` made",
            next_step="record the program again",
        ) from error


def problems_of(folder: Path) -> dict[str, str]:
    """What any process of a program was refused, by kind."""
    found = dict[str, str]()
    for file in sorted(folder.glob(f"*/{SUMMARY}")):
        found.update(json.loads(file.read_text("utf-8")).get("problems", {}))
    return found


def _read(folder: Path) -> Recording:
    summary = json.loads((folder / SUMMARY).read_text("utf-8"))
    functions: tuple[Function, ...] = tuple(map(_function, rows(folder / "functions.jsonl")))
    return Recording(
        folder=folder,
        summary=summary,
        functions=functions,
        configurations=tuple(
            _configuration(row, functions) for row in rows(folder / "configurations.jsonl")
        ),
        elsewhere=tuple(_elsewhere(row) for row in rows(folder / "elsewhere.jsonl")),
        notes=tuple(rows(folder / "notes.jsonl")),
    )


def rows(file: Path) -> Iterator[dict[str, Any]]:
    """The JSON lines of a file; none where it is not there. A last line that was cut short (its
    program was killed) is left out."""
    if not file.exists():
        return
    lines = file.read_text("utf-8", errors="replace").splitlines()
    for index, line in enumerate(lines):
        try:
            yield json.loads(line)
        except ValueError:
            if index != len(lines) - 1:
                raise


def _size3(given: Sequence[int]) -> Size3:
    x, y, z = given
    return (x, y, z)


def _function(row: Mapping[str, Any]) -> Function:
    return Function(
        id=row["id"],
        name=row["name"],
        launches=row["launches"],
        image=row["image"],
        candidates=row["candidates"],
        params=tuple((offset, size) for offset, size in row["params"]),
    )


def _configuration(row: Mapping[str, Any], functions: Sequence[Function]) -> Configuration:
    return Configuration(
        id=row["id"],
        function=functions[int(row["function"])],
        grid=_size3(row["grid"]),
        block=_size3(row["block"]),
        shared=row["shared"],
        attributes=tuple(tuple(map(int, each)) for each in row["attributes"]),
        scalars=row["scalars"],
        merged=row["merged"],
        count=row["count"],
        captured=row["captured"],
        first=row["first"],
        first_plain=row["first_plain"],
        timed=row["timed"],
        sum_ns=row["sum_ns"],
        times=tuple((ordinal, ns) for ordinal, ns in row["times"]),
    )


def _elsewhere(row: Mapping[str, Any]) -> Elsewhere:
    return Elsewhere(
        name=row["name"],
        grid=_size3(row["grid"]),
        block=_size3(row["block"]),
        shared=row["shared"],
        graph=row["graph"],
        count=row["count"],
        sum_ns=row["sum_ns"],
    )
