"""Tensors that say they are on a GPU: torch's meta tensors, each with a buffer of the plan.

A meta tensor has shape, strides and dtype but no memory, so a wrapper that reads data has
nothing to read, and an input of 128 GiB costs nothing.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from ..plans.plan import PlanBuffer, PointerParam
from ..specs.contract import BoundArgument
from .libraries import load, torch
from .recorder import Place, Recorder

MAX_PATTERN = 8


class DeviceTensors:
    """Which storage is which buffer."""

    def __init__(self, recorder: Recorder) -> None:
        self.recorder = recorder
        # A storage is kept beside its buffer, or its key could be used again.
        self._storages: dict[int, tuple[PlanBuffer, Any]] = {}

    def argument(self, bound: BoundArgument) -> Any:
        """The tensor of an array argument, in its own buffer."""
        module = torch()
        tensor = without_modes(
            lambda: module.empty_strided(
                bound.shape,
                bound.strides,
                dtype=getattr(module, bound.argument.dtype),
                device="meta",
            )
        )
        self._own(
            tensor,
            self.recorder.add(
                "argument", bound.nbytes, align=bound.argument.align, name=bound.name
            ),
        )
        return tensor

    def scratch(self, tensor: Any) -> None:
        """A tensor that the wrapper allocated; one in a known buffer is no new one."""
        if tensor.untyped_storage()._cdata not in self._storages:
            nbytes = tensor.untyped_storage().nbytes()
            self._own(tensor, self.recorder.add("scratch", nbytes))

    def upload(self, tensor: Any, source: Any) -> None:
        """A tensor whose content comes from the host: a constant of the plan.

        One that repeats a single element is a fill: wrappers write accumulators so, and a
        constant is not restored from run to run.
        """
        module = torch()
        same = module.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="cpu")
        content = _bytes_of(same.copy_(source))
        element = content[: tensor.element_size()]
        recorder, whole = self.recorder, tensor.dtype in (module.int64, module.uint64)
        pointers = recorder.relocations(content) if whole else ()
        repeated = content == element * (len(content) // max(1, len(element)))
        if not pointers and len(element) <= MAX_PATTERN and repeated:
            self.scratch(tensor)
            recorder.fill(self.address(tensor), len(content), element)
        else:
            buffer = recorder.add("const", len(content), content=content, pointers=pointers)
            self._own(tensor, buffer)

    def fill(self, tensor: Any, value: Any) -> None:
        """Every element of a tensor becomes a number."""
        if not _dense(tensor):
            self.recorder.refuse("fill of a strided view; fill the whole buffer")
        module = torch()
        if isinstance(value, module.Tensor):
            if value.is_meta:
                self.recorder.refuse("host program: the wrapper reads device data (Tensor.fill_)")
            value = value.item()
        element = _bytes_of(module.full((1,), value, dtype=tensor.dtype, device="cpu"))
        if len(element) > MAX_PATTERN:
            self.recorder.refuse(f"fill with elements of {len(element)} bytes")
        nbytes = tensor.numel() * tensor.element_size()
        self.recorder.fill(self.address(tensor), nbytes, element)

    def address(self, tensor: Any) -> int:
        """Where a tensor's first element lies."""
        if not tensor.is_meta:
            self.recorder.refuse("a CPU tensor is passed to a kernel")
        known = self._storages.get(tensor.untyped_storage()._cdata)
        if known is None:
            self.recorder.refuse("a device tensor of unknown origin")
        return self.recorder.address(known[0]) + tensor.storage_offset() * tensor.element_size()

    def place(self, tensor: Any) -> Place:
        """Buffer and offset of a tensor."""
        place = self.recorder.find(self.address(tensor))
        assert place is not None
        return place

    def pointer(self, name: str, value: Any) -> PointerParam:
        """A tensor, a wrapper of one, an address or None as a parameter."""
        if value is None or (isinstance(value, int) and value == 0):
            return PointerParam(arg=name, buffer=None)
        if isinstance(value, torch().Tensor):
            address = self.address(value)
        else:
            address = value if isinstance(value, int) else value.data_ptr()
        place = self.recorder.find(address)
        if place is None:
            self.recorder.refuse(f"argument {name}: address {address:#x} lies in no known buffer")
        return PointerParam(arg=name, buffer=place.buffer.name, offset=place.offset)

    def known(self, address: int) -> bool:
        """Whether a captured buffer lies there."""
        return self.recorder.find(address) is not None

    def _own(self, tensor: Any, buffer: PlanBuffer) -> None:
        storage = tensor.untyped_storage()
        self._storages[storage._cdata] = (buffer, storage)


def on_device(value: Any) -> list[Any]:
    """The device tensors in a nest of tuples, lists and dicts."""
    return list(_device_tensors(value, torch().Tensor))


def without_modes(make: Callable[[], Any]) -> Any:
    """What `make` returns, unseen by every mode that is active."""
    off = load("torch.utils._python_dispatch")._disable_current_modes
    with torch()._C.DisableTorchFunction(), off():
        return make()


def _device_tensors(value: Any, kind: type) -> Iterator[Any]:
    if isinstance(value, kind):
        if value.is_meta:  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
            yield value
    elif isinstance(value, (tuple, list)):
        for each in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _device_tensors(each, kind)
    elif isinstance(value, dict):
        yield from _device_tensors(list(value.values()), kind)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def _bytes_of(tensor: Any) -> bytes:
    storage = tensor.untyped_storage()
    return ctypes.string_at(storage.data_ptr(), storage.nbytes())


def _dense(tensor: Any) -> bool:
    """Whether the elements fill a stretch of memory without gaps or overlap."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True
