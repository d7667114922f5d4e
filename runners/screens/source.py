"""The static screen: what a kernel's source has no business naming.

Each language has a table of rows with a tier and a reason: `block` ends the evaluation, `probe`
has the fuller gates run before anything is measured, `note` is recorded. Names are looked for in
the syntax tree, so comments and strings do not count. The walls that hold are elsewhere (an
executor cannot make these calls, a candidate's Python never runs beside the clock): the screen
gives a clear answer early. What machine code says beside it: `instructions/machine_code.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..languages import Language, Syntax, language_of
from ..model import GateResult
from ..specs.io_contract import Contract
from .cpp import cpp_findings
from .findings import Finding, screened, wants_probes
from .python import python_findings
from .unread import unread_parameters

__all__ = ["static_screen", "wants_probes"]


def static_screen(
    source: str, kernel_type: str, entry: str = "", contract: Contract | None = None
) -> GateResult:
    """The gate: failed for the first blocking name, with the line; all findings are its evidence.

    `entry` is the function that will be called: what neither it nor importing the file can
    reach (a benchmark beside a kernel) does not block. Empty: everything counts. `contract`
    decides which precision a kernel may compute in.
    """
    found = _findings(source, kernel_type, entry, contract)
    allowed = () if contract is None else contract.allow
    return screened("static_screen", found, "a kernel computes and does nothing else", allowed)


def _findings(
    source: str, kernel_type: str, entry: str, contract: Contract | None
) -> list[Finding]:
    language = language_of(kernel_type)
    return READ_BY.get(language.syntax, _unread)(source, entry, contract, language)


def _unread(_source: str, entry: str, *_: object) -> list[Finding]:
    """What no screen reads is for the fuller gates to look at."""
    return [Finding("probe", 0, entry, "is in a language that is not read here")]


READ_BY: Mapping[Syntax, Callable[[str, str, Contract | None, Language], list[Finding]]] = {
    "c": lambda source, entry, contract, language: [
        *cpp_findings(source, contract, device=language.on_gpu, entry=entry),
        *unread_parameters(source, entry, contract, device=language.on_gpu),
    ],
    "python": lambda source, entry, contract, _: python_findings(source, entry, contract),
}
