"""A side of comparisons that fails itself: looked at alone, and refused when it fails again.

Without this the same failure would make every later evaluation `lost`.
"""

from __future__ import annotations

from ..runners.gates import FIRST_SET, first_failure
from ..runners.model import GateResult
from ..store.records import Confirmation
from .rig.open_kernel import OpenKernel
from .rig.rig import Rig

LOOKS = 2
"""A failure that does not come again was somebody else's."""


def refusal(rig: Rig, kernel: OpenKernel, variant_id: str) -> Confirmation | None:
    """Why a loaded variant can be compared with nothing: it fails alone, each time.

    None: once at least it did not. Raises ProcessLost.
    """
    failed: GateResult | None = None
    for _ in range(LOOKS):
        rig.rest(kernel)
        failed = _failure(rig, kernel, variant_id)
        if failed is None:
            return None
    assert failed is not None
    return Confirmation(
        variant_id=variant_id,
        right=False,
        gates=(failed,),
        visible=None,
        held_out=None,
        accepted=False,
        message=f"gate {failed.gate}: it failed when others were compared with it, and {LOOKS} "
        f"times alone: {failed.message}",
    )


def _failure(rig: Rig, kernel: OpenKernel, variant_id: str) -> GateResult | None:
    """The first gate that it does not pass, checked and then timed."""
    runs = rig.check(kernel, variant_id)
    failed = first_failure([gate(runs) for gate in FIRST_SET])
    return failed or first_failure(rig.compare(kernel, kernel.pools, variant_id, ()).gates)
