"""What the rules have to offer for a kernel that nobody has opened: from its spec and source."""

from __future__ import annotations

from dataclasses import replace

from ...runners.loading.files import LoadedKernel
from ...store.records import KernelRecord, now
from ..moves import CANONICAL
from ..planning.planner import Context, without_held_out
from ..planning.rules import Explanation, explain
from ..stored.variants import state_of


def explained_unopened(loaded: LoadedKernel) -> tuple[Explanation, ...]:
    """Every method of the kernel's language at its baseline, in the catalogue's order. Nothing is
    built: what a toolchain finds to tune is not among it."""
    baseline = loaded.baseline()
    variant_id = baseline.variant_id
    kernel = KernelRecord(
        kernel_id=loaded.kernel_id,
        loaded=loaded,
        odd_symbols=None,
        baseline=variant_id,
        incumbent=variant_id,
        baseline_ms={},
        opened_at=now(),
    )
    state = state_of(kernel, baseline)
    state = replace(state, spec=without_held_out(state.spec))
    found = explain(Context(search_id="", variant_id=variant_id, state=state))
    kind = loaded.spec.kernel.kernel_type
    return tuple(each for each in found if kind in CANONICAL[each.method].languages)
