"""What compute-sanitizer found, read from the XML that it saves; pure.

Its elements, as versions 2025.3 and 2026.4 name them:

    <ComputeSanitizerOutput><record>
      <kind>Precise</kind><level>Error</level>
      <who><threadIdx><x/><y/><z/></threadIdx><blockIdx>...</blockIdx></who>
      <what><text/><space/><size/><direction/><address/></what>
      <where><func/><path/><line/><pc/></where>
      <hostStack>...</hostStack>
    </record></ComputeSanitizerOutput>

NVIDIA publishes no schema. So what is not known here is never taken for clean: it is listed in
`unknown`. Names of kernels and files are a candidate's own words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    pid""".split()
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
    level: str
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
        return self.kind in FINDINGS and self.level in SERIOUS

    @property
    def warning(self) -> bool:
        """Whether it is about the kernel, and less than an error."""
        return self.kind in FINDINGS and self.level not in SERIOUS


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
    return SanitizerRecord(
        kind=_text(element, "kind") or "none",
        level=_text(element, "level") or "none",
        text=_text(what, "text") or _text(what, "error"),
        where=Frame(
            kernel=_text(where, "func"), file=_text(where, "path"), line=_int(where, "line") or 0
        ),
        thread=_place(who, "threadIdx"),
        block=_place(who, "blockIdx"),
        space=_text(what, "space"),
        direction=_text(what, "direction"),
        size=_first(what, ("size", "accessSize")),
        address=_first(what, ("address", "accessAddress", "errorAddress")),
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
