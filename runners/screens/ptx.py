"""What is suspicious in PTX: rows over instructions, for whole modules and for `asm` in a source.

PTX of a build is a listing that the build handed over; what no listing can hide is read from the
machine code itself (`instructions`). Here findings get their lines of source.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain

from ..specs.io_contract import Contract
from .findings import Finding, ScreenTier
from .precision import Precision, precision_tier
from .ptx_answers import REASON as UNUSED
from .ptx_answers import unused_answers

NARROW = "computes in a type narrower than the contract's"
TF32 = "multiplies in tf32, and the contract's math is ieee"
APPROXIMATES = "approximates, and the contract's math is not fast"
TELLS_APART = "tells one launch from another, which no result may hang on"
BARRIER = "finds where its grid waits for all blocks, whose state may last from launch to launch"
"""the address of a cooperative grid's barrier, which `cooperative_groups` reads in two halves"""
COUNTS = "reads a performance counter, which tells whether it is profiled"
ROUNDS = "adds floats in the order in which threads come, and the contract is deterministic"


@dataclass(frozen=True, slots=True)
class PtxRow:
    """One thing that is looked for: an expression over instructions, without groups of its own."""

    pattern: str
    tier: ScreenTier
    reason: str
    precision: Precision | None = None
    """the contract decides about the tier"""
    rounding: bool = False
    """only where the contract is deterministic"""

    def tier_under(self, contract: Contract | None) -> ScreenTier | None:
        """The tier of a finding; None: it says nothing under this contract."""
        if self.rounding and (contract is None or not contract.deterministic):
            return None
        return self.tier if self.precision is None else precision_tier(self.precision, contract)


_MMA = r"\b(?:mma|wmma|wgmma|tcgen05)\.[\w.:]*"
_HALF = r"b?f16(?:x2)?"
PTX: tuple[PtxRow, ...] = (
    PtxRow(r"%(?:clock(?:64|_hi)?|globaltimer(?:_lo|_hi)?)\b", "probe", "reads a clock"),
    PtxRow(r"%(?:gridid|current_graph_exec|envreg(?![12]\b)\d+)\b", "block", TELLS_APART),
    PtxRow(r"%envreg[12]\b", "probe", BARRIER),
    PtxRow(r"%pm\d+(?:_64)?\b", "block", COUNTS),
    PtxRow(r"%(?:smid|nsmid|n?warpid)\b", "probe", "looks at where it runs"),
    PtxRow(r"\bdiscard\.[\w.:]+", "probe", "throws away what a cache holds"),
    PtxRow(r"\b(?:trap|brkpt)(?=\s*;)", "note", "may stop everything on the GPU"),
    PtxRow(r"\bnanosleep\b", "note", "waits"),
    PtxRow(
        r"\bcreatepolicy\.[\w.:]+|\bapplypriority\.[\w.:]+|\bL[12]::evict_last\b",
        "note",
        "asks a cache to keep lines, which timing does not let outlive a call",
    ),
    PtxRow(rf"{_MMA}(?:\.|::)tf32\b", "note", TF32, "tf32"),
    PtxRow(r"\bcvt\.[\w.]*\.tf32(?:\.[\w.]+)?", "note", TF32, "tf32"),
    PtxRow(
        rf"(?:{_MMA}|\bcvt\.[\w.]*)(?:\.e\dm\d|kind::mx|kind::f8)[\w.:]*", "note", NARROW, "8 bit"
    ),
    PtxRow(rf"{_MMA}(?:\.|::)(?:{_HALF})\b", "note", NARROW, "16 bit"),
    PtxRow(rf"\bcvt\.[\w.]*\.{_HALF}(?:\.f32|\.f64)+", "note", NARROW, "16 bit"),
    PtxRow(r"\b(?:tanh|sin|cos|div)\.approx(?:\.[\w.]+)?", "note", APPROXIMATES, "approximate"),
    PtxRow(
        rf"\b(?:red|atom|cp\.reduce)(?=[\w.:]*\.add\b)[\w.:]*\.(?:{_HALF}|f32|f64)\b",
        "note",
        ROUNDS,
        rounding=True,
    ),
    PtxRow(r"\bcall(?:\.uni)?\s+(?:\([^)]*\),\s*)?%\w+", "note", "calls through a pointer"),
    PtxRow(r"\balloca\.\w+", "note", "takes local memory of a size found at run time"),
)
KEYS = (
    *(
        "%clock",
        "%globaltimer",
        "%gridid",
        "%current_graph_exec",
        "%envreg",
        "%pm",
        "smid",
        "warpid",
        "discard.",
        "trap",
        "brkpt",
    ),
    *("nanosleep", "createpolicy", "applypriority", "evict_last", "mma", "tcgen05", "cvt."),
    *(".approx", "red.", "atom.", "cp.reduce", "call", "alloca."),
)
"""one of these is in whatever a row fits: finding them costs a tenth of trying the rows"""
MAX_STATEMENT = 400
KEPT = "(in asm) is kept from one launch to the next"
_DECLARED = re.compile(r"(?<![\w.])\.global\s+(?:\.\w+(?:\s*\([^;]*?\)|\s+\d+)?\s+)+([\w$]+)")
"""a variable of the module, which no row over the bodies of kernels sees"""
_TEXTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_ANY = re.compile("|".join(f"(?P<row{n}>{row.pattern})" for n, row in enumerate(PTX)))
_BODY = re.compile(r"^[^/\n]*?\.(entry|func)\s+(?:\([^)]*\)\s*)?([\w$.]+)", re.MULTILINE)
_LOC = re.compile(
    r"\.loc\s+(\d+)\s+(\d+)[^\n]*?(?:\binlined_at\s+(\d+)\s+(\d+)[^\n]*?)?"
    r"(?://.*?([^\s/:]+):(\d+):\d+[\s\]]*)?$",
    re.MULTILINE,
)
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"(?:[^"\n]*/)?([^"/\n]*)"', re.MULTILINE)


def statement_findings(
    text: str, contract: Contract | None
) -> Iterator[tuple[int, str, ScreenTier, str]]:
    """(position, instruction, tier, reason) of everything in a text that a row fits."""
    for start, end in _statements(text):
        for found in _ANY.finditer(text, start, end):
            row = PTX[int((found.lastgroup or "row0")[3:])]
            tier = row.tier_under(contract)
            if tier is not None:
                yield found.start(), " ".join(found[0].split()), tier, row.reason


def _statements(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of every statement with one of KEYS in it, in order."""
    spans = set[tuple[int, int]]()
    for key in KEYS:
        at = text.find(key)
        while at >= 0:
            end = text.find(";", at, at + MAX_STATEMENT)
            spans.add((text.rfind("\n", 0, at) + 1, at + len(key) if end < 0 else end + 1))
            at = text.find(key, at + len(key))
    done = 0
    for start, end in sorted(spans):
        if end > done:
            yield max(start, done), end
            done = end


def without_comments(ptx: str) -> str:
    """PTX with blanks in place of its comments; what stands elsewhere stays at its place.

    A compiler copies the text of an `asm` as it is. So a comment in it may hold anything: the head
    of another kernel, or a section that ends the code for who does not know it for a comment.
    """
    return _TEXTS.sub(_blank, ptx)


def _blank(found: re.Match[str]) -> str:
    text = found[0]
    return text if text.startswith('"') else re.sub(r"[^\n]", " ", text)


def asm_findings(text: str, line: int, contract: Contract | None) -> list[Finding]:
    """What the text of an `asm` (with `%%` for `%`) holds, told at the line where it stands."""
    plain = without_comments(text.replace("%%", "%"))
    found = [
        Finding(tier, line, name, f"(in asm) {reason}")
        for _, name, tier, reason in statement_findings(plain, contract)
    ]
    kept = [Finding("probe", line, each[1], KEPT) for each in _DECLARED.finditer(plain)]
    return found + kept


def ptx_findings(
    ptx: str, launched: Collection[str], contract: Contract | None, source: str = ""
) -> list[Finding]:
    """What the bodies of launched kernels and of the functions beside them hold.

    Lines are those of the file named `source`; 0 for code that came from elsewhere.
    """
    files = {found[1]: found[2] for found in _FILE.finditer(ptx)}
    text = without_comments(ptx)
    bodies = [(m.start(), m[2], m[1] == "entry") for m in _BODY.finditer(text)]
    ends = [*(start for start, _, _ in bodies[1:]), len(text)]
    unused: Iterator[tuple[int, str, ScreenTier, str]] = (
        (at, name, "block", UNUSED)
        for (start, _, _), end in zip(bodies, ends, strict=False)
        for at, name in unused_answers(text, start, end)
    )
    found = list[Finding]()
    for at, name, tier, reason in chain(statement_findings(text, contract), unused):
        body = next((b for b in reversed(bodies) if b[0] <= at), None)
        if body is None or (body[2] and body[1] not in launched):
            continue
        line = _line_before(ptx, at, files, source)
        found.append(Finding(tier, line, name, reason, place=f"kernel `{body[1]}`"))
    return list(dict.fromkeys(found))


def _line_before(text: str, at: int, files: dict[str, str], source: str) -> int:
    """The line of `source` that the last `.loc` before a place names, 0 for none.

    Of a call that was inlined it is the caller's line: nvcc tells it as `inlined_at`, Triton tells
    the chain of calls in a comment, the first caller last.
    """
    begins = text.rfind(".loc", 0, at)
    found = _LOC.match(text, begins) if begins >= 0 else None
    if found is None:
        return 0
    told = ((found[5], found[6]), (files.get(found[3]), found[4]), (files.get(found[1]), found[2]))
    return next((int(line) for file, line in told if file == source and line), 0)
