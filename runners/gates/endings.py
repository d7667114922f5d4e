"""How an evaluation ends by the gate that failed."""

from __future__ import annotations

from collections.abc import Mapping

from ..model import Ending, GateResult

ENDINGS: Mapping[str, Ending] = {
    "static_screen": Ending.rejected,
    "machine_code_screen": Ending.rejected,
    "returns_in_time": Ending.timed_out,
    "does_not_crash": Ending.launch_failed,
    "stays_in_its_buffers": Ending.unsafe,
    "leaves_inputs_alone": Ending.unsafe,
    "is_right": Ending.wrong,
    "is_right_while_timed": Ending.cheated,
    "obeys_physics": Ending.cheated,
    "is_deterministic": Ending.wrong,
}
"""Gates that find one thing alone."""


def ending_of(failed: GateResult) -> Ending:
    """The ending that a failed gate brings about.

    A gate that runs a variant elsewhere can find all that the first set finds, and says in its
    evidence which `ending` belongs to it. A gate that says nothing found something unsafe.
    """
    known = ENDINGS.get(failed.gate)
    return known or Ending(failed.evidence.get("ending", Ending.unsafe))
