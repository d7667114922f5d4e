"""Memory that a wrapper lends to Triton for its launches: what `triton.set_allocator` hands out.

A plan gives each launch scratch memory of its own, and so is right only where the wrapper's is that
as well: what lies in an input, a result or memory that a launch is given would be written over by
whoever runs the source, and by nobody who runs the plan.
"""

from __future__ import annotations

from typing import Any

from ..errors import SpecError
from .assembling import used_buffers
from .device_tensors import DeviceTensors
from .libraries import load
from .recorder import Place, Recorder

OWN = "memory of its own: torch.empty(size, dtype=torch.int8, device=...), for nothing else"


def borrow(nbytes: int, align: int, tensors: DeviceTensors) -> None:
    """Ask the source's allocator as Triton's launcher would, and note what it hands out.

    Without one there is nothing to ask: then whoever calls the source has to set it. Raises
    SpecError where what is handed out is no scratch memory, or too little, or begins elsewhere than
    asked for.
    """
    module = load("triton.runtime._allocation")
    allocator: Any = module._allocator.get()
    if isinstance(allocator, module.NullAllocator):
        return
    place = _place(allocator(nbytes, align, 0), tensors)
    buffer = place.buffer
    if buffer.role != "scratch":
        what = "a constant" if buffer.role == "const" else f"`{buffer.name}`, an argument"
        raise SpecError(f"triton.set_allocator: it hands out memory of {what}", valid=OWN)
    if place.offset + nbytes > buffer.nbytes:
        raise SpecError(
            f"triton.set_allocator: asked for {nbytes} bytes, it hands out "
            f"{buffer.nbytes - place.offset}",
            valid=OWN,
        )
    if place.offset % align or buffer.align % align:
        raise SpecError(
            f"triton.set_allocator: asked for memory at a multiple of {align} bytes, it hands out "
            f"some {place.offset} bytes behind the start of a tensor",
            valid=OWN,
        )
    tensors.recorder.lent.add(buffer.name)


def check_lent(recorder: Recorder, results: frozenset[str]) -> None:
    """What was lent in any call so far, against what this call uses. `results`: buffers in which
    those of this call lie, and of calls before it. Raises SpecError where they share a buffer."""
    for name in recorder.lent & used_buffers(recorder, results):
        what = "a result" if name in results else "memory that a launch is given"
        raise SpecError(
            f"triton.set_allocator: it hands out {what}, which a launch would write over", valid=OWN
        )


def _place(lent: Any, tensors: DeviceTensors) -> Place:
    pointer = getattr(lent, "data_ptr", None)
    address = pointer() if callable(pointer) else None
    place = tensors.recorder.find(address) if isinstance(address, int) else None
    if place is None:
        raise SpecError("triton.set_allocator: it hands out no memory of the device", valid=OWN)
    return place
