"""Before a search times anything on a GPU: leftovers of ours are ended, and strangers are named."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

from ...runners import progress
from ...runners.device.presence.occupants import Occupant, strangers_on
from ...runners.device.presence.registry import end_leftovers
from ...runners.errors import DeviceBusy
from ...runners.processes.locks import gpu_registry
from .gpus import Gpus

if TYPE_CHECKING:
    from ...runners.loading.files import LoadedKernel

ASK_EVERY_S = 2.0


def preflight(
    gpus: Gpus,
    loaded: LoadedKernel,
    busy: Literal["go_on", "wait", "refuse"],
    pause: Callable[[float], None] = time.sleep,
) -> tuple[str, ...]:
    """What was found on the GPUs of a kernel, a line each; nothing of host code, of GPUs that are
    not here, and where nobody else is.

    `busy`: what to do where others compute there. `pause` sleeps some seconds. Raises DeviceBusy
    where they are to refuse it, and Cancelled while it waits.
    """
    devices = {each.uuid: each.name for each in gpus.lanes(loaded) if each and each.uuid}
    if not devices:
        return ()
    ended = end_leftovers(gpu_registry())
    told = [f"ended process {pid}, which an earlier run of ours had left on a GPU" for pid in ended]
    there = dict(_occupied(devices))
    told += [_said(name, strangers) for name, strangers in there.items()]
    if there and busy == "refuse":
        raise DeviceBusy(
            "; ".join(_said(*each) for each in there.items()),
            valid="a GPU that nobody else computes on, as times are to be its own",
            next_step="end them, name another GPU (--gpus), or let the search wait or go on "
            "(setting busy_gpu: wait, go_on)",
        )
    while there and busy == "wait":
        progress.report("waits: " + "; ".join(_said(*each) for each in there.items()))
        pause(ASK_EVERY_S)
        there = dict(_occupied(devices))
    return tuple(told)


def _occupied(devices: dict[str, str]) -> Iterator[tuple[str, tuple[Occupant, ...]]]:
    for uuid, name in devices.items():
        strangers = strangers_on(uuid, gpu_registry())
        if strangers:
            yield f"{name} ({uuid})", strangers


def _said(name: str, strangers: tuple[Occupant, ...]) -> str:
    return f"others compute on {name}: {', '.join(each.describe() for each in strangers)}"
