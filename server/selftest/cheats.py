"""The library of cheats: pages with their sources, read from the package `kernelwright.cheats`.

A folder `TYPE/NAME` holds `page.md` (front matter, then what it does and who was fooled), the
source (`kernel.cpp`, `kernel.cu` or `kernel.py`) and, where the source is not all,
`candidate.json` with plan, parameters or options. `victims/NAME` is a kernel with its spec.
`impossible.md` lists the rows of the table of known cheats that the design leaves no room for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from ...runners.errors import SpecError
from ...runners.languages import KERNEL_TYPES, KernelType, language_of
from ...runners.loading.files import LoadedKernel, Roots, load_file
from ...runners.model import Candidate, Record, Tier
from ...runners.specs.problems import explain_problems

ROWS = 23
"""rows of the table of cheats seen in the wild, which pages refer to by number"""
PASSES, NO_GAIN, NOT_KEPT = "passes", "no gain", "not kept"
_GATE = r"[a-z][a-z0-9_]*"
_HEAD = re.compile(r"---\n(?P<head>.*?)\n---\n(?P<body>.*)", re.DOTALL)


Subject = Literal[
    "sources", "captures", "host code", "GPU code", "probes", "values", "places", "shapes",
    "patterns", "calls", "early looks", "layouts", "repeats", "references",
]  # fmt: skip
"""what gates look at"""


class Page(Record):
    """The front matter of a page."""

    title: str = Field(min_length=8, max_length=100)
    """what it tries, in one line"""
    victim: str
    """the kernel that it pretends to make faster: a folder of `victims`"""
    expect: tuple[str, ...] = Field(min_length=1)
    """gates or endings any of which may stop it; `no gain`: it may be measured and must not be
    faster; `not kept`: faster, and never the best; `passes`: honest, must not be stopped"""
    rows: tuple[int, ...] = ()
    """rows of the table of known cheats that it stands for"""
    needs: Literal["", "x86_64", "compute-sanitizer"] = ""
    """what this machine must be, or have, for it to be tried"""

    near: tuple[Subject, ...] = ()
    """of an honest page: which looks of the evaluator it could be taken for a cheat by"""

    @field_validator("expect", "rows", "near", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())

    @field_validator("rows")
    @classmethod
    def _rows_of_the_table(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        if outside := [row for row in value if not 1 <= row <= ROWS]:
            raise ValueError(f"no row {outside[0]}: the table has rows 1 to {ROWS}")
        return value

    @model_validator(mode="after")
    def _expects_one_kind(self) -> Page:
        if PASSES in self.expect and len(self.expect) > 1:
            raise ValueError(f"`{PASSES}` stands alone: what must pass is stopped by nothing")
        if bool(self.near) != (PASSES in self.expect):
            raise ValueError(f"`near` belongs to pages that expect `{PASSES}`, and to each of them")
        for each in self.expect:
            if each not in (NO_GAIN, NOT_KEPT) and not re.fullmatch(_GATE, each):
                raise ValueError(
                    f"`{each}` is neither a gate, an ending, `{NO_GAIN}`, "
                    f"`{NOT_KEPT}` nor `{PASSES}`"
                )
        return self


class Cheat(Record):
    """One page with its source: a cheat, a broken kernel, or an honest one that looks like it."""

    name: str
    """`cpp/no_op`: type and folder"""
    kernel_type: KernelType
    page: Page
    body: str
    candidate: Candidate

    @property
    def honest(self) -> bool:
        """Whether it must pass."""
        return PASSES in self.page.expect

    @property
    def tier(self) -> Tier:
        """Of the kernel that it attacks."""
        return language_of(self.kernel_type).tier


class Impossible(Record):
    """Rows of the table that need no page, and what in the design leaves no room for them."""

    rows: tuple[int, ...]
    what: str
    why: str


def folder() -> Path:
    """Where the library lies: in the repository, or in the installed package."""
    package = (__package__ or "").partition(".")[0]
    return Path(str(files(f"{package}.cheats")))


@cache
def catalogue(place: Path | None = None) -> tuple[Cheat, ...]:
    """Every page, cheats of a type before its honest kernels. Raises SpecError."""
    place = place or folder()
    found = [
        read_cheat(page.parent, kernel_type, place)
        for kernel_type in KERNEL_TYPES
        for page in sorted((place / kernel_type).glob("*/page.md"))
    ]
    return tuple(sorted(found, key=lambda c: (c.kernel_type, c.honest)))


def chosen(names: Sequence[str], of: Iterable[Cheat]) -> tuple[Cheat, ...]:
    """The pages named (`cpp/no_op`, `no_op`, `cuda`, a victim); none named: all. SpecError."""
    of = tuple(of)
    for name in names:
        if not any(name in _names(cheat) for cheat in of):
            raise SpecError(f"no cheat `{name}`", valid=_near(name, of))
    return tuple(c for c in of if not names or any(name in _names(c) for name in names))


def chosen_of_tier(names: Sequence[str], tier: str) -> tuple[Cheat, ...]:
    """The pages named of a tier (native, device or all). Raises SpecError, also where all that
    were named are of another tier."""
    found = chosen(names, catalogue())
    if left := tuple(cheat for cheat in found if tier in ("all", cheat.tier)):
        return left
    raise SpecError(
        f"{', '.join(names)}: of the tier {found[0].tier}, and only the tier {tier} was asked for",
        next_step=f"call it with --tier {found[0].tier}, or without --tier",
    )


def _names(cheat: Cheat) -> tuple[str, ...]:
    return (cheat.name, *cheat.name.split("/"), cheat.page.victim)


def _near(name: str, of: Sequence[Cheat]) -> str:
    """Names that are like one that nobody knows; all where none is."""
    known = dict.fromkeys(each for cheat in of for each in _names(cheat))
    if near := get_close_matches(name, known, n=5, cutoff=0.5):
        return ", ".join(near)
    types, victims = {c.kernel_type for c in of}, {c.page.victim for c in of}
    return (
        f"a kernel type ({', '.join(sorted(types))}), a victim ({', '.join(sorted(victims))}), or "
        f"a page ({', '.join(c.name for c in of)})"
    )


def victim(name: str) -> LoadedKernel:
    """The kernel of a page. Raises SpecError and AccessError."""
    home = folder() / "victims" / name
    return load_file(home / "spec.json", Roots([home]))


def read_cheat(home: Path, kernel_type: KernelType, place: Path) -> Cheat:
    """The page in a folder. Raises SpecError that names the file and every field at fault."""
    head, body = _split(home / "page.md")
    try:
        page = Page.model_validate(head)
    except ValidationError as error:
        raise _wrong(home / "page.md", explain_problems(error, Page)) from error
    if not (place / "victims" / page.victim / "spec.json").is_file():
        known = sorted(p.parent.name for p in (place / "victims").glob("*/spec.json"))
        raise SpecError(f"{home / 'page.md'}: no victim `{page.victim}`", valid=", ".join(known))
    return Cheat(
        name=f"{kernel_type}/{home.name}",
        kernel_type=kernel_type,
        page=page,
        body=body,
        candidate=_candidate(home, kernel_type),
    )


def impossible() -> tuple[Impossible, ...]:
    """What `impossible.md` lists: `## rows: what`, then why. Raises SpecError."""
    path = folder() / "impossible.md"
    found = list[Impossible]()
    for section in _read(path).split("\n## ")[1:]:
        title, _, why = section.partition("\n")
        numbers, _, what = title.partition(":")
        rows = tuple(int(n) for n in re.findall(r"\d+", numbers))
        if not (rows and what.strip() and why.strip()):
            raise _wrong(path, [f"`## {title}`: wanted `## ROWS: WHAT` and then why"])
        found.append(Impossible(rows=rows, what=what.strip(), why=" ".join(why.split())))
    return tuple(found)


def _candidate(home: Path, kernel_type: KernelType) -> Candidate:
    suffix = language_of(kernel_type).suffixes[0]
    source, extra = home / f"kernel{suffix}", home / "candidate.json"
    parts: dict[str, Any] = json.loads(_read(extra)) if extra.is_file() else {}
    if source.is_file():
        parts["source"] = _read(source)
    try:
        return Candidate(method="selftest", detail=home.name, **parts)
    except ValidationError as error:
        place = extra if extra.is_file() else source
        raise _wrong(place, explain_problems(error, Candidate)) from error


def _split(path: Path) -> tuple[dict[str, str], str]:
    found = _HEAD.fullmatch(_read(path))
    if found is None:
        raise _wrong(path, ["wanted: a line `---`, lines `field: value`, a line `---`, then text"])
    head = dict[str, str]()
    for line in found["head"].splitlines():
        field, colon, value = line.partition(":")
        if not colon:
            raise _wrong(path, [f"`{line}` is not `field: value`"])
        head[field.strip()] = value.strip()
    return head, found["body"].strip()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{path} cannot be read: {error.strerror}") from error


def _wrong(path: Path, problems: Sequence[str]) -> SpecError:
    return SpecError(f"{path} is not valid:\n" + "\n".join(f"  {line}" for line in problems))
