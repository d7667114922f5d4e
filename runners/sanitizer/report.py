"""What compute-sanitizer found, read from the XML that it saves; pure.

Its elements, `?` where a tool may leave one out:

    <ComputeSanitizerOutput><record>
      <kind>Precise</kind><level>Error</level>?
      <who><threadIdx><x/><y/><z/></threadIdx><blockIdx>...</blockIdx></who>?
      <what><text/><type/>?<space/>?<size/>?<direction/>?<address/>?
        <source>ACCESS</source>? <destination>ACCESS</destination>?
      </what>
      <where><func/><path/><line/><pc/></where>?
      <hostStack><saveLocation/><frame><func/><pc/><module/></frame>...</hostStack>?
    </record></ComputeSanitizerOutput>

where an ACCESS is `<direction/><where>...</where><count/>?`. As saved by version 2025.3.1 on an
H100: initcheck and synccheck give no level, racecheck's analysis no thread, and places of its two
accesses alone; synccheck says in `type` what is wrong (tests/golden/sanitizer has such files).
The level and the other elements of memcheck are those that 2025.3 and 2026.4 name.

NVIDIA publishes no schema. So what is not known here is never taken for clean: it is listed in
`unknown`. Names of kernels and files are a candidate's own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from pydantic import Field

from ..model import Record

MAX_BYTES = 8 << 20
MAX_RECORDS = 50
MAX_TEXT = 400
ROOT, RECORD = "ComputeSanitizerOutput", "record"
KNOWN = frozenset(
    """kind level who what where hostStack deviceStack hostAccessStack hostMemOpStack
    threadIdx blockIdx x y z text space size direction error address accessAddress errorAddress
    accessSize destination unused func path line pc module frame saveLocation ctaRank rank gridId
    gridid grid cluster lane thread0 thread1 current write read barrier activeMask api array
    pid type source count""".split()
)
FINDINGS = frozenset(
    {
        "Precise",
        "Imprecise",
        "StackOverflow",
        "Hazard",
        "Global hazard",
        "Analysis",
        "Race condition",
        "Initcheck",
        "InitcheckApiError",
        "Synccheck",
        "ClusterEntryExit",
        "Tcgen05Guardrail",
        "Syscall",
    }
)
"""kinds of records that are about a kernel; others are about the tool or our own calls"""
SERIOUS = frozenset({"Error", "Fatal"})


class Frame(Record):
    """A place in the source, as far as line tables know it."""

    kernel: str = ""
    file: str = ""
    line: int = 0


class SanitizerRecord(Record):
    """One thing that a tool found."""

    kind: str
    level: str = ""
    """as the tool says; empty: it gives none, as initcheck and synccheck do"""
    text: str = ""
    where: Frame = Frame()
    thread: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    space: str = ""
    direction: str = ""
    size: int | None = None
    """bytes of the access"""
    address: int | None = None

    @property
    def finding(self) -> bool:
        """Whether it is about the kernel, and no mere warning."""
        return self.kind in FINDINGS and (not self.level or self.level in SERIOUS)

    @property
    def warning(self) -> bool:
        """Whether it is about the kernel, and less than an error."""
        return self.kind in FINDINGS and not self.finding


class Report(Record):
    """A file of records; `unknown`: why it may hold more than was understood."""

    records: tuple[SanitizerRecord, ...] = ()
    unknown: tuple[str, ...] = Field(default=())


def read_report(content: bytes) -> Report:
    """The records of a saved file. One that cannot be read is a report of one unknown thing."""
    if len(content) > MAX_BYTES:
        return Report(unknown=(f"a report of {len(content)} bytes is not read",))
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        return Report(unknown=("a report with declarations is not read",))
    try:
        root = ElementTree.fromstring(content)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        return Report(unknown=(f"the report is no XML: {error}",))
    if root.tag != ROOT:
        return Report(unknown=(f"the report is of `{_cut(root.tag)}`",))
    found = [child for child in root if child.tag == RECORD]
    unknown = [f"element `{_cut(child.tag)}`" for child in root if child.tag != RECORD]
    records = list[SanitizerRecord]()
    for element in found[:MAX_RECORDS]:
        records.append(_record(element))
        unknown += [f"element `{_cut(t)}`" for t in _tags(element) if t not in KNOWN]
    unknown += [f"a record of kind `{r.kind}`" for r in records if r.kind not in FINDINGS]
    if len(found) > MAX_RECORDS:
        unknown.append(f"{len(found) - MAX_RECORDS} more records")
    return Report(records=tuple(records), unknown=tuple(dict.fromkeys(unknown)))


def _record(element: Element) -> SanitizerRecord:
    what, where, who = (element.find(tag) for tag in ("what", "where", "who"))
    accesses = _accesses(what)
    own = _frame(where)
    return SanitizerRecord(
        kind=_text(element, "kind") or "none",
        level=_text(element, "level"),
        text=_told(what, accesses),
        where=own if own != Frame() else _place_of_race(accesses),
        thread=_place(who, "threadIdx"),
        block=_place(who, "blockIdx"),
        space=_text(what, "space"),
        direction=_text(what, "direction"),
        size=_first(what, ("size", "accessSize")),
        address=_first(what, ("address", "accessAddress", "errorAddress")),
    )


@dataclass(frozen=True, slots=True)
class _Access:
    """One side of a race; `hazards`: how often it met the other, where that is told."""

    direction: str
    where: Frame
    hazards: int | None

    def told(self) -> str:
        """`read at f.cu:5 (20000 hazards)`, as much of it as is known."""
        name = PurePosixPath(self.where.file).name
        place = f" at {name}:{self.where.line}" if self.where.line else ""
        times = "" if self.hazards is None else f" ({self.hazards} hazards)"
        return f"{self.direction.lower() or 'access'}{place}{times}"


def _accesses(what: Element | None) -> list[_Access]:
    """The sides of a race, its source first."""
    found = [] if what is None else [*what.findall("source"), *what.findall("destination")]
    return [
        _Access(_text(side, "direction"), _frame(side.find("where")), _int(side, "count"))
        for side in found
    ]


def _place_of_race(accesses: Sequence[_Access]) -> Frame:
    """Where a race shows: at its destination, or at its source if that alone is known."""
    return next((a.where for a in reversed(accesses) if a.where != Frame()), Frame())


def _told(what: Element | None, accesses: Sequence[_Access]) -> str:
    words = [
        _text(what, "text") or _text(what, "error"),
        _text(what, "type"),
        ", ".join(access.told() for access in accesses),
    ]
    return _cut(": ".join(filter(None, words)))


def _frame(where: Element | None) -> Frame:
    return Frame(
        kernel=_text(where, "func"), file=_text(where, "path"), line=_int(where, "line") or 0
    )


def _tags(element: Element) -> Iterator[str]:
    return (child.tag for child in element.iter() if child is not element)


def _text(element: Element | None, tag: str) -> str:
    found = None if element is None else element.find(tag)
    return "" if found is None or found.text is None else _cut(found.text.strip())


def _int(element: Element | None, tag: str) -> int | None:
    try:
        return int(_text(element, tag), 0)
    except ValueError:
        return None


def _first(element: Element | None, tags: Sequence[str]) -> int | None:
    return next((n for tag in tags if (n := _int(element, tag)) is not None), None)


def _place(who: Element | None, tag: str) -> tuple[int, int, int] | None:
    element = None if who is None else who.find(tag)
    x, y, z = (_int(element, axis) for axis in ("x", "y", "z"))
    return None if x is None or y is None or z is None else (x, y, z)


def _cut(text: str) -> str:
    printable = "".join(c if c.isprintable() else " " for c in text)
    return printable if len(printable) <= MAX_TEXT else printable[:MAX_TEXT] + "..."
