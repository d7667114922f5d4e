"""What the author of a baseline that is not exact enough can say in the spec, where it is right."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ..runners.gates.runs import NOT_ON_PUBLIC, Run
from ..runners.oracle.messages import OutputVerdict
from ..runners.specs.spec import KernelSpec

MOST_OFFERED = 0.05
"""An error beyond this share of a row's RMS is no rounding: such a kernel is wrong."""
_HEADER = re.compile(
    r"fatal error: '?([^':\n]+)'?(?:: No such file| file not found)"  # gcc and nvcc; clang
    r'|cannot open source file "([^"]+)"'  # NVRTC
)
STATE = (
    "if it keeps something between calls (a static or global variable, a counter or sum that "
    "nothing sets to zero, a table made in the first call), compute it anew in every call: each "
    "must give its outputs from its arguments alone"
)
ROOM = 2.0
"""Other seeds and shapes err differently; the odd shape and the held-out ones are asked as well."""


def tolerance_offered(spec: KernelSpec, runs: Sequence[Run]) -> str:
    """A floor that would let a baseline through which is only inexact, as the line of the spec and
    what it means; empty where a run failed in another way.

    A sum of three million floats, one after the other, errs by more than a float32 output may, on
    some seeds or on all. Of secret ones one digit of the largest error is told: they were drawn for
    this opening, and nobody is called with them again.
    """
    wrong = [v for run in runs for v in run.verdicts if not v.right]
    if not wrong or any(run.result.fault_kind for run in runs):
        return ""
    if not all(_is_inexact(verdict) for verdict in wrong):
        return ""
    name = wrong[0].name
    largest = max(verdict.largest for verdict in wrong if verdict.name == name)
    floor = _rounded_up(ROOM * largest)
    output = next(a for a in spec.io.arguments if a.name == name)
    return (
        f"if this is rounding that you accept (a long sum of float32 does that), say so in the "
        f'spec: io.arguments.{output.name}: "tolerance": {{"floor": {floor:g}}}. Errors up to '
        f"{floor:g} of a row's RMS then count as right, of the baseline and of every variant"
    )


def _is_inexact(verdict: OutputVerdict) -> bool:
    largest, allowed = verdict.largest, verdict.allowed
    if not math.isfinite(largest) or not allowed or not allowed < max(largest, verdict.rms):
        return False
    return largest <= MOST_OFFERED


def header_missing(message: str) -> str:
    """What to write where a compiler did not find a header, which is built in a folder of its own
    with what the spec names and nothing else; empty: it found all."""
    found = _HEADER.search(message)
    if found is None:
        return ""
    name = found[1] or found[2]
    return (
        f'name it in the spec: kernel.files: ["{name}"] where it lies beside the spec, or its '
        "folder in kernel.include_dirs"
    )


def state_kept(message: str) -> str:
    """What to look for where a kernel fails on some calls and not on others; empty where a failure
    is the same on the public seed. It is called many times in one process, on inputs that change:
    what a `static` keeps of an earlier call is wrong for the next."""
    return STATE if NOT_ON_PUBLIC in message else ""


def _rounded_up(value: float) -> float:
    """To one significant digit."""
    scale = 10.0 ** math.floor(math.log10(value))
    return math.ceil(value / scale) * scale
