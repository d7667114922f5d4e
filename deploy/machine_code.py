"""Winners that run on a GPU: kernels of cubins, launched through the driver on torch's stream."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from .memory import Memory
from .packing import Packing, Slots
from .reading import Case, Refused, Step, Winner

Prepared = Callable[[list[Any], list[int]], list[Any] | None]
"""given the tensors of a call and their addresses, its results; None: it does not run there"""
Launch = Callable[[list[int], Any, int], None]
"""given addresses by slot, a stream of the current context, and the GPU's number"""
DYNAMIC_SHARED, USUAL_SHARED = 8, 48 * 1024
"""CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, and from where on it has to be asked for"""


class MachineCode:
    """The modules of a winner, loaded once for each GPU that its tensors lie on."""

    def __init__(self, winner: Winner, torch: Any) -> None:
        self._folder, self._target, self._torch = winner.folder, winner.target, torch
        self._functions = dict[tuple[int, str, str], ctypes.c_void_p]()
        self._proved = dict[int, bool]()

    def prepare(self, case: Case) -> Prepared:
        """What runs a case; on a GPU of another kind it gives None."""
        cuda, memory = self._torch.cuda, Memory(case, self._torch, "cuda")
        steps = [self.step(each, memory.slots) for each in case.steps]
        stream_of = _stream_of(self._torch)

        def launched(device: int, at: list[int]) -> list[Any]:
            _use_context(device)
            new = memory.new()
            at += [each.data_ptr() for each in new]
            stream = ctypes.c_void_p(stream_of(device))
            for step in steps:
                step(at, stream, device)
            return new[: memory.results]

        def run(tensors: list[Any], at: list[int]) -> list[Any] | None:
            device = _gpu_of(tensors)
            if not (self._proved[device] if device in self._proved else self._proves(device)):
                return None
            if cuda.current_device() == device:
                return launched(device, at)
            with cuda.device(device):
                return launched(device, at)

        return run

    def step(self, step: Step, slots: Slots) -> Launch:
        """What launches or fills. It raises Refused with the driver's number."""
        if not step.file:
            return _fill(step, slots)
        packing = Packing(step.parameters, slots)
        geometry = tuple(map(ctypes.c_uint, (*step.grid, *step.block, step.shared)))
        key = (step.file, step.entry)

        def launch(at: list[int], stream: Any, device: int) -> None:
            function = self._functions.get((device, *key)) or self._function(step, device)
            piece = packing.take(at)
            code = _driver().cuLaunchKernel(function, *geometry, stream, piece[0], None)
            packing.give(piece)
            if code:
                raise Refused(f"cuLaunchKernel returned {code}")

        return launch

    def _proves(self, device: int) -> bool:
        major, minor = self._torch.cuda.get_device_capability(device)
        self._proved[device] = _runs_on(self._target, major, minor)
        return self._proved[device]

    def _function(self, step: Step, device: int) -> ctypes.c_void_p:
        """Loaded, and kept for further calls."""
        image = (self._folder / step.file).read_bytes()
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        _checked("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(image))
        name = ctypes.c_char_p(step.entry.encode())
        _checked("cuModuleGetFunction", ctypes.byref(function), module, name)
        if step.shared > USUAL_SHARED:
            _checked("cuFuncSetAttribute", function, DYNAMIC_SHARED, ctypes.c_int(step.shared))
        self._functions[device, step.file, step.entry] = function
        return function


def _fill(step: Step, slots: Slots) -> Launch:
    (target,) = step.parameters
    slot, offset = slots[target.buffer], target.offset
    width = next(w for w in (1, 2, 4) if len(step.pattern) == w)
    call = {1: "cuMemsetD8Async", 2: "cuMemsetD16Async", 4: "cuMemsetD32Async"}[width]
    value = ctypes.c_uint(int.from_bytes(step.pattern, "little"))
    count = ctypes.c_size_t(step.nbytes // width)

    def fill(at: list[int], stream: Any, device: int) -> None:
        del device
        _checked(call, ctypes.c_uint64(at[slot] + offset), value, count, stream)

    return fill


def _gpu_of(tensors: list[Any]) -> int:
    """The number of the GPU that a call's tensors lie on; a lone number may lie on the host."""
    for each in tensors:
        device = each.get_device()
        if device >= 0:
            return device
    raise Refused("no tensor of the call lies on a GPU")


def _stream_of(torch: Any) -> Callable[[int], int]:
    """What tells torch's stream of a GPU: as Triton asks, or (without that) by the public way."""
    raw = getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
    return raw or (lambda device: torch.cuda.current_stream(device).cuda_stream)


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
