"""The static screen: what a kernel's source has no business naming.

Each language has a table of rows with a tier and a reason: `block` ends the evaluation, `note`
is recorded beside it. Names are looked for in the syntax tree, so comments and strings do not
count. The walls that hold are elsewhere (an executor cannot make these calls, a candidate's
Python never runs beside the clock): the screen gives a clear answer early.
"""

from __future__ import annotations

from .model import GateResult
from .screen_cpp import SCREENS, cpp_findings
from .screen_findings import Finding
from .screen_python import python_findings


def static_screen(source: str, kernel_type: str, entry: str = "") -> GateResult:
    """The gate: failed for the first blocking name, with the line; notes are listed.

    `entry` is the function that will be called: what neither it nor importing the file can
    reach (a benchmark beside a kernel) does not block. Empty: everything counts. C++ and CUDA
    are read whole in any case.
    """
    found = _findings(source, kernel_type, entry)
    notes = list(dict.fromkeys(map(str, found)))
    for finding in found:
        if finding.tier == "block":
            return GateResult(
                gate="static_screen",
                outcome="failed",
                message=f"{finding}; a kernel computes and does nothing else",
                evidence={"found": notes[:20]},
            )
    if notes:
        return GateResult(gate="static_screen", outcome="note", message="; ".join(notes[:5]))
    return GateResult(gate="static_screen", outcome="passed")


def _findings(source: str, kernel_type: str, entry: str) -> list[Finding]:
    if kernel_type == "triton":
        return python_findings(source, entry)
    return cpp_findings(source, SCREENS.get(kernel_type, ()))
