"""Triton's driver without a GPU: kernels are compiled, their launches become steps of the plan.

Triton itself still does defaults, heuristics, grids, hooks and the check that a kernel fits; this
sees the bound arguments of every launch.
"""

from __future__ import annotations

import hashlib
import math
import operator
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from ..errors import SpecError
from ..machine_code.cubin import read_cubin
from ..plans.plan import Dim3, Launch, Param, PlanKernel, PointerParam
from ..specs.devices import DeviceFacts
from .device_tensors import DeviceTensors
from .lent_memory import borrow
from .libraries import load, torch
from .messages import EntryFacts
from .parameters import kernel_params
from .pretend_cuda import always
from .recorder import Recorder

MAX_PROGRAMS = 2**31 - 1
MAX_THREADS = 1024


class RecordingDriver:
    """What `triton.runtime.driver.active` is while a wrapper is captured."""

    def __init__(self, recorder: Recorder, tensors: DeviceTensors, device: DeviceFacts) -> None:
        self.kernels: dict[str, PlanKernel] = {}
        """by Triton's hash of source, types and options"""
        self.entries: dict[str, EntryFacts] = {}
        self.cubins: dict[str, bytes] = {}
        """by their hash"""
        self.ptx: dict[str, str] = {}
        """by the hash of the cubin"""
        self.utils = SimpleNamespace(
            load_binary=self._load_binary,
            get_device_properties=always(_properties(device)),
            unload_module=always(None),
        )
        self._recorder, self._tensors, self._device = recorder, tensors, device
        self._thread = threading.get_ident()
        self._usage: list[EntryFacts] = []
        self._loaded: dict[int, Any] = {}

    def install(self) -> None:
        """Make it Triton's driver in this process, for good."""
        load("triton.runtime").driver.set_active(self)
        compiled: Any = load("triton.compiler").CompiledKernel
        load_handles: Callable[[Any], None] = compiled._init_handles

        def init_handles(kernel: Any) -> None:
            load_handles(kernel)
            self._loaded[kernel.function] = kernel

        compiled._init_handles = init_handles

    # What Triton asks of a driver.

    def get_current_target(self) -> Any:
        """The GPU to compile for."""
        target: Any = load("triton.backends.compiler").GPUTarget
        return target("cuda", self._device.capability, 32)

    def get_current_device(self) -> int:
        """The only one."""
        return 0

    def set_current_device(self, device: int) -> None:
        """There is one."""
        if device != 0:
            self._recorder.refuse(f"host program: second device {device}")

    def get_current_stream(self, device: int) -> int:
        """The default one."""
        return 0

    def get_device_capability(self, device: int = 0) -> tuple[int, int]:
        """Major and minor."""
        return divmod(self._device.capability, 10)

    def get_active_torch_device(self) -> Any:
        """What wrappers pass as `device=`."""
        return torch().device("cuda", 0)

    def get_device_interface(self) -> Any:
        """`torch.cuda`."""
        return torch().cuda

    def map_python_to_cpp_type(self, kind: str) -> str:
        """Of no use here."""
        return kind

    def get_benchmarker(self) -> Any:
        """Nothing can be timed here."""
        self._recorder.refuse("host program: the wrapper times kernels")

    def get_empty_cache_for_benchmark(self) -> Any:
        """What `triton.testing.do_bench` asks first."""
        return self.get_benchmarker()

    def launcher_cls(self, source: Any, metadata: Any) -> Callable[..., None]:
        """The launcher of one compiled kernel."""

        def launch(x: Any, y: Any, z: Any, stream: Any, function: int, *rest: Any) -> None:
            try:
                grid = (operator.index(x), operator.index(y), operator.index(z))
                self._launch(self._loaded[function], grid, rest[4:])
            except SpecError as error:
                self._recorder.refuse(error.message)

        return launch

    def _load_binary(self, name: str, cubin: bytes, shared: int, device: int) -> tuple[int, ...]:
        """Module, function, registers, spilled words and the most threads a block."""
        usage = resource_usage(cubin)
        self._usage.append(usage)
        return 1, len(self._usage), usage.registers, usage.spills // 4, MAX_THREADS

    def _launch(self, kernel: Any, grid: Dim3, values: tuple[Any, ...]) -> None:
        metadata = kernel.metadata
        if self._programs(grid) == 0:
            return
        if self._recorder.importing:
            raise SpecError("kernels may not be launched at import")
        if threading.get_ident() != self._thread:
            raise SpecError("host program: a second thread launches")
        if metadata.profile_scratch_size:
            raise SpecError("instrumented kernel (profile scratch)")
        maps = metadata.tensordesc_meta or ()
        params = kernel_params(kernel.src.signature, values, maps, self._tensors)
        step = Launch(
            launch=self._kernel(kernel).id,
            grid=(grid[0] * metadata.num_ctas, *grid[1:]),
            params=(*params, *self._scratch_params(metadata, math.prod(grid))),
        )
        self._recorder.steps.append(step)

    def _programs(self, grid: Dim3) -> int:
        if min(grid) < 0 or math.prod(grid) > MAX_PROGRAMS:
            raise SpecError(
                f"grid {grid}: its product is below 0 or over 2**31 - 1; Triton's launcher would "
                "skip it without a word"
            )
        return math.prod(grid)

    def _scratch_params(self, metadata: Any, programs: int) -> tuple[Param, ...]:
        size, name = metadata.global_scratch_size, None
        if size:
            nbytes, align = programs * metadata.num_ctas * size, metadata.global_scratch_align
            borrow(nbytes, align, self._tensors)
            name = self._recorder.add("launch_scratch", nbytes, align=align).name
        return (
            PointerParam(arg="global_scratch", buffer=name),
            PointerParam(arg="profile_scratch", buffer=None),
        )

    def _kernel(self, kernel: Any) -> PlanKernel:
        metadata, cubin = kernel.metadata, kernel.asm["cubin"]
        known = self.kernels.get(metadata.hash)
        if known is not None:
            return known
        sha256 = hashlib.sha256(cubin).hexdigest()
        made = PlanKernel(
            id=f"k{len(self.kernels)}",
            entry=metadata.name,
            sha256=sha256,
            block=(32 * metadata.num_warps, 1, 1),  # after compiling: specialised warps count
            shared=metadata.shared,
            cluster=None if metadata.num_ctas == 1 else (metadata.num_ctas, 1, 1),
            cooperative=metadata.launch_cooperative_grid,
            pdl=metadata.launch_pdl,
        )
        self.kernels[metadata.hash] = made
        self.cubins[sha256], self.ptx[sha256] = cubin, kernel.asm["ptx"]
        self.entries[made.id] = self._usage[kernel.function - 1]
        return made


def _properties(device: DeviceFacts) -> dict[str, int]:
    return {
        "max_shared_mem": device.shared_per_block,
        "max_num_regs": device.registers_per_sm,
        "multiprocessor_count": device.sm_count,
        "warpSize": 32,
        "sm_clock_rate": device.clock_khz,
        "mem_clock_rate": device.memory_clock_khz,
        "mem_bus_width": device.memory_bus_bits,
    }


def resource_usage(cubin: bytes) -> EntryFacts:
    """Of the only entry of a cubin; spills are local memory a thread, as the driver counts them."""
    (entry,) = read_cubin(cubin).entries.values()
    return EntryFacts(
        registers=entry.registers,
        spills=entry.stack,
        stack=entry.stack,
        static_shared=entry.static_shared,
    )
