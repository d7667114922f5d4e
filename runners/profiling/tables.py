"""The tables that `ncu --import FILE --csv` prints, read; pure.

`--page raw` has a row a launch and a column a metric, beneath two rows of names and units; `--page
details` has a row a value, and a row for each thing that a rule says (metric columns empty). Lines
that begin with `==` are ncu talking. Numbers may hold commas between thousands, and `n/a` is a
metric that could not be collected. Nothing here is by instruction or by opcode.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence

from .extract import plain
from .model import Advice, AdviceKind, KernelProfile, LaunchShape, Metric, Scope

FIRST = '"ID",'
NAME, BLOCK, GRID, CAPABILITY = "Kernel Name", "Block Size", "Grid Size", "CC"
ABOUT = frozenset(
    {"ID", "Process ID", "Process Name", "Host Name", NAME, "Context", "Stream", BLOCK, GRID}
    | {"Device", CAPABILITY}
)
"""columns that are no metrics"""
ABSENT = frozenset({"", "n/a", "nan", "-nan"})
KINDS: Mapping[str, AdviceKind] = {
    "INF": "information",
    "OPT": "optimization",
    "WRN": "warning",
    "ERR": "error",
}
SCOPES: Mapping[str, Scope] = {"local": "local", "global": "global"}
DEVICE_NAME = "device__attribute_display_name"


def launches(raw: str, details: str = "") -> tuple[KernelProfile, ...]:
    """The launches of the `raw` page with the advice of the `details` page.

    Raises ValueError for text that holds no such table, or whose rows do not fit its columns.
    """
    rows = _rows(raw)
    if not rows:
        return ()
    header, units, *values = rows
    advice = _advice(details)
    for row in values:
        if len(row) != len(header):
            raise ValueError(f"a row of {len(row)} cells under {len(header)} names")
    unit_of = dict(zip(header, units, strict=True))
    return tuple(_launch(dict(zip(header, row, strict=True)), unit_of, advice) for row in values)


def _rows(text: str) -> list[list[str]]:
    """The table in what ncu printed; empty where there is none."""
    lines = [line for line in text.splitlines(keepends=True) if not line.startswith("==")]
    start = next((i for i, line in enumerate(lines) if line.startswith(FIRST)), None)
    return [] if start is None else [row for row in csv.reader(lines[start:]) if row]


def _launch(
    cells: Mapping[str, str], units: Mapping[str, str], advice: Mapping[str, list[Advice]]
) -> KernelProfile:
    metrics = dict[str, Metric]()
    for name, cell in cells.items():
        if name not in ABOUT and cell.strip() not in ABSENT:
            metrics[name] = Metric(value=_value(cell), unit=units[name])
    device = metrics.get(DEVICE_NAME)
    capability = cells.get(CAPABILITY, "")
    return KernelProfile(
        kernel=cells[NAME],
        name=cells[NAME],
        shape=LaunchShape(grid=_extent(cells[GRID]), block=_extent(cells[BLOCK])),
        device=str(device.value) if device else "",
        capability=int(capability.replace(".", "")) if capability else None,
        metrics=metrics,
        advice=tuple(advice.get(cells["ID"], ())),
    )


def _advice(details: str) -> dict[str, list[Advice]]:
    found = dict[str, list[Advice]]()
    for row in _records(_rows(details)):
        kind = KINDS.get(row.get("Rule Type", ""))
        if kind is None or not row.get("Rule Description"):
            continue
        estimate = row.get("Estimated Speedup", "")
        scope = SCOPES.get(row.get("Estimated Speedup Type", "")) if estimate else None
        told = Advice(
            rule=row["Rule Name"],
            name=row["Rule Name"],
            section=row.get("Section Name", ""),
            kind=kind,
            message=plain(row["Rule Description"]),
            speedup_percent=float(estimate.replace(",", "")) if scope else None,
            scope=scope,
        )
        found.setdefault(row["ID"], []).append(told)
    return found


def _records(rows: Sequence[Sequence[str]]) -> Iterator[dict[str, str]]:
    return (dict(zip(rows[0], row, strict=False)) for row in rows[1:])


def _value(cell: str) -> float | str:
    try:
        return float(cell.replace(",", ""))
    except ValueError:
        return cell


def _extent(cell: str) -> tuple[int, int, int]:
    """Of `(128, 1, 1)`."""
    numbers = [int(number) for number in re.findall(r"\d+", cell)]
    if len(numbers) != 3:
        raise ValueError(f"{cell!r} is no size of a grid or block")
    return numbers[0], numbers[1], numbers[2]
