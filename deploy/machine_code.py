"""Winners that run on a GPU: kernels of cubins, launched through the driver on torch's stream."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from .packing import Packing, addresses_of, held_for
from .reading import Case, Refused, Step, Winner

Prepared = Callable[[list[Any], list[Any]], bool]
DYNAMIC_SHARED, USUAL_SHARED = 8, 48 * 1024
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, and from where on it has to be asked for"""


class MachineCode:
    """The modules of a winner, loaded once for each GPU that its tensors lie on."""

    def __init__(self, winner: Winner, torch: Any) -> None:
        self._folder, self._target, self._torch = winner.folder, winner.target, torch
        self._functions = dict[tuple[int, str, str], ctypes.c_void_p]()

    def prepare(self, case: Case) -> Prepared:
        """What runs a case on tensors and into results; it says False on a GPU of another kind."""
        torch = self._torch

        def run(tensors: list[Any], results: list[Any]) -> bool:
            device = tensors[0].device
            major, minor = torch.cuda.get_device_capability(device)
            if not _runs_on(self._target, major, minor):
                return False
            with torch.cuda.device(device):
                _use_context(device.index or 0)
                held = held_for(case, torch, device)
                stream = torch.cuda.current_stream(device).cuda_stream
                at = addresses_of(case, tensors, results)
                at |= {name: memory.data_ptr() for name, memory in held.items()}
                for step in case.steps:
                    self.step(step, at, stream, device.index or 0)
            return True

        return run

    def step(self, step: Step, at: dict[str, int], stream: int, device: int) -> None:
        """Launch or fill on a stream of the current context. `at`: addresses by buffer. Raises
        Refused with the driver's number."""
        if not step.file:
            (target,) = step.parameters
            _fill(at[target.buffer] + target.offset, step, stream)
            return
        array, memory = Packing(step.parameters).packed(at)
        _checked(
            "cuLaunchKernel",
            self._function(step, device),
            *map(ctypes.c_uint, (*step.grid, *step.block, step.shared)),
            ctypes.c_void_p(stream),
            array,
            None,
        )
        del memory

    def _function(self, step: Step, device: int) -> ctypes.c_void_p:
        key = (device, step.file, step.entry)
        if key not in self._functions:
            image = (self._folder / step.file).read_bytes()
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            _checked("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
            name = ctypes.c_char_p(step.entry.encode())
            _checked("cuModuleGetFunction", ctypes.byref(function), module, name)
            if step.shared > USUAL_SHARED:
                _checked("cuFuncSetAttribute", function, DYNAMIC_SHARED, ctypes.c_int(step.shared))
            self._functions[key] = function
        return self._functions[key]


def _fill(address: int, step: Step, stream: int) -> None:
    width = next(w for w in (1, 2, 4) if len(step.pattern) == w)
    call = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}[width]
    value = ctypes.c_uint(int.from_bytes(step.pattern, "little"))
    count = ctypes.c_size_t(step.nbytes // width)
    _checked(call, ctypes.c_uint64(address), value, count, ctypes.c_void_p(stream))


def _runs_on(target: str, major: int, minor: int) -> bool:
    """Whether code for `sm_90a`, `sm_100f` or `sm_90` was proved on this compute capability."""
    return target.rstrip("af") == f"sm_{major}{minor}"


def _use_context(ordinal: int) -> None:
    """Make the primary context of a GPU this thread's, where it has none: the runtime does that at
    its first call that needs one, and a thread of autograd may have made none before ours."""
    context = ctypes.c_void_p()
    _checked("cuCtxGetCurrent", ctypes.byref(context))
    if context.value:
        return
    device = ctypes.c_int()
    _checked("cuDeviceGet", ctypes.byref(device), ctypes.c_int(ordinal))
    _checked("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    _checked("cuCtxSetCurrent", context)


@cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise Refused(f"there is no driver of NVIDIA's here: {error}") from error


def _checked(name: str, *arguments: Any) -> None:
    code = getattr(_driver(), name)(*arguments)
    if code:
        raise Refused(f"{name} returned {code}")
