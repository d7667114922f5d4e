"""What the source of a state launches at a few shapes, with sizes as values of the launch.

A kernel that is compiled for its sizes (`n_cols: tl.constexpr`) is another one at every shape.
Where such a constant is a size of the contract it is read as a value: what is written is then given
it like any other size. A kernel that does not compile so is read as it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ......runners.building.plain_triton import launched_plainly
from ......runners.capture.launches import Launches, ReadLaunch
from ......runners.capture.messages import CaptureRequest
from ....shared.base import NotApplicable, State
from .sizes_told import size_told


def launches_of(
    state: State, requests: Sequence[CaptureRequest]
) -> tuple[ReadLaunch, ...] | NotApplicable:
    """The one launch at each shape, of the same kernel, or why it cannot be told."""
    found = _asked(state, requests)
    if isinstance(found, str):
        return NotApplicable(f"what it launches cannot be read: {found}")
    calls = [each.launches for each in found]
    if several := next((each for each in calls if len(each) != 1), None):
        named = ", ".join(dict.fromkeys(each.kernel for each in several))
        entry = state.spec.kernel.metadata.kernel_name
        return NotApplicable(f"`{entry}` launches several kernels: {named}")
    launches = tuple(each[0] for each in calls)
    if differ := next((each for each in launches if each.kernel != launches[0].kernel), None):
        return NotApplicable(
            f"it launches `{launches[0].kernel}` at some sizes, `{differ.kernel}` at others"
        )
    if sizes := tuple(_sizes(state, launches, requests)):
        asked = [each.model_copy(update={"as_values": sizes}) for each in requests]
        again = _asked(state, asked)
        if not isinstance(again, str):
            return tuple(each.launches[0] for each in again)
    return launches


def _asked(state: State, requests: Sequence[CaptureRequest]) -> tuple[Launches, ...] | str:
    texts = tuple(each.model_dump_json() for each in requests)
    found = launched_plainly(state.source, texts, tuple(sorted(state.files.items())))
    if isinstance(found, str):
        return found
    refusal = next((each.refusal for each in found if each.refusal), "")
    return refusal.splitlines()[0] if refusal else found


def _sizes(
    state: State, launches: Sequence[ReadLaunch], requests: Sequence[CaptureRequest]
) -> Iterator[str]:
    """Constants that differ from shape to shape and are sizes of the contract."""
    symbols = [each.symbols for each in requests]
    for at, constant in enumerate(launches[0].handed):
        values = [each.handed[at].value for each in launches]
        whole = [int(v) for v in values if isinstance(v, int) and not isinstance(v, bool)]
        if constant.kind != "constant" or len(whole) < len(values) or len(set(whole)) == 1:
            continue
        if size_told(whole, symbols, state.spec) is not None:
            yield constant.name
