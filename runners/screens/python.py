"""The static screen of Python: what a Triton kernel's file has no business naming.

Python of a candidate never runs beside the clock, and where it runs it has no network, no
programs and no files to write. So what an honest file may well contain (a benchmark, a look
at the environment) is noted and does not block; what only serves to get at the evaluator does.
"""

from __future__ import annotations

import ast
import re
import warnings

from ..specs.io_contract import Contract
from .findings import Finding
from .precision import precision_tier
from .ptx import asm_findings
from .python_names import MAIN, Use, foreign_python_names
from .python_rows import PYTHON, PythonRow
from .python_scopes import OUTSIDE

_UNREACHED = "(not reached when the kernel is called)"
EXACT = frozenset({"ieee", "tf32x3", "bf16x6"})
"""values of `input_precision` that keep what fp32 holds"""


def python_findings(
    source: str, entry: str = "", contract: Contract | None = None
) -> list[Finding]:
    """What a Python source names that its table has a row for, in the order of its lines.

    What runs as a program only (`if __name__ == "__main__"`), and with an `entry` what neither
    it nor importing the file can reach, never blocks. A source that does not parse has no
    findings: the builder tells what is wrong with it.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape sequence is for the builder to tell
            names = foreign_python_names(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    by_text = {"globals", "locals"} & {use.name for use in names.uses}
    reached = names.reached_from(entry) if entry and not by_text else None
    found = list[Finding]()
    for use in names.uses:
        runs = use.within != MAIN and (reached is None or use.within in reached)
        for each in _of_use(use, contract):
            if runs:
                found.append(each)
            elif each.tier == "block":
                found.append(Finding("note", each.line, each.name, f"{each.reason} {_UNREACHED}"))
    return list(dict.fromkeys(found))


def _of_use(use: Use, contract: Contract | None) -> list[Finding]:
    if use.how == "asm":
        if not use.text:
            return [Finding("probe", use.line, use.name, "is assembly that cannot be read here")]
        return asm_findings(use.text, use.line, contract)
    if use.how == "dot":
        return _of_product(use, contract)
    row = _row_of(use)
    tier = None if row is None else row.tier_under(contract)
    if row is None or tier is None:
        return []
    return [Finding(tier, use.line, use.name, row.reason)]


def _of_product(use: Use, contract: Contract | None) -> list[Finding]:
    """A product of matrices of fp32 that rounds its operands, as Triton does by default."""
    tier = None if use.text in EXACT else precision_tier("tf32", contract)
    if tier is None or contract is None:
        return []
    told = {
        "default": "multiplies fp32 in tf32, which is its default",
        "*": "multiplies in a precision that the source does not tell",
    }.get(use.text, f"multiplies fp32 in {use.text}")
    advice = 'the contract\'s math is ieee: input_precision="ieee", or "tf32x3"'
    return [Finding(tier, use.line, use.name, f"{told}; {advice}")]


def _row_of(use: Use) -> PythonRow | None:
    """The first row that fits: the name itself, or a thing that it is a part of."""
    foreign = use.name.partition(".")[0] in OUTSIDE
    for row in PYTHON:
        if row.how != use.how or (use.how == "assigned" and not foreign):
            continue
        if re.fullmatch(rf"(?:{row.pattern})(?:\.[\w.*]+)?", use.name):
            return row
    return None
