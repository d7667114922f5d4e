"""A variant's machine code, loaded: its kernels ready for launches, its variables as new."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from ...errors import SpecError
from ...machine_code.cubin import CubinInfo, reaches_local, read_cubin
from ...plans.plan import Launch, LaunchPlan, PlanKernel, SetSymbol
from . import driver, modules
from .faults import DriverFault, RunFault, fault_of
from .modules import Function, Module

PLAIN_SHARED = 48 << 10
"""bytes of dynamic shared memory that need no opting in"""
PORTABLE_CLUSTER = 8
LOCAL_BYTES = 1024
"""of local memory that the driver gives every thread, whatever its kernel asks for"""
READ = 16
"""images of which it is remembered what they hold: those of a few sides"""


class Code:
    """What one load of the modules of one plan gives. Raises RunFault for what does not load."""

    def __init__(self, files: Mapping[str, str], plan: LaunchPlan) -> None:
        self._modules: dict[str, Module] = {}
        self._infos: dict[str, CubinInfo] = {}
        self._local = dict[str, int]()
        self._plan = plan
        self._kernels = {kernel.id: kernel for kernel in plan.kernels}
        self._functions: dict[str, Function] = {}
        try:
            for sha256 in dict.fromkeys(kernel.sha256 for kernel in plan.kernels):
                self._load(sha256, files)
            for kernel in plan.kernels:
                self._functions[kernel.id] = self._prepare(kernel)
        except RunFault:
            self.close()
            raise

    @property
    def keeps_state(self) -> bool:
        """Whether anything that a run writes outlives it."""
        return keeps_state(self._plan, self._infos.values())

    @property
    def local_bytes(self) -> int:
        """Local memory that a thread can reach, 0 if none does: no launch clears it."""
        return max(self._local.values(), default=0)

    def kernel(self, step: Launch) -> PlanKernel:
        """The kernel of a launch."""
        return self._kernels[step.launch]

    def function(self, step: Launch) -> Function:
        """What the driver launches for it."""
        return self._functions[step.launch]

    def parameter_sizes(self, step: Launch) -> tuple[int, ...]:
        """Bytes of each parameter, as the machine code has them."""
        kernel = self._kernels[step.launch]
        return tuple(size for _, size in self._infos[kernel.sha256].entries[kernel.entry].params)

    def symbol(self, step: SetSymbol) -> int:
        """The address that a step writes to, `nbytes` of which belong to the variable."""
        kernel = self._kernels[step.kernel]
        where = f" (symbol `{step.symbol}` of kernel `{kernel.entry}`)"
        try:
            address, nbytes = modules.get_global(self._modules[kernel.sha256], step.symbol)
        except DriverFault as error:
            raise fault_of(error, where) from error
        if step.offset + step.nbytes > nbytes:
            raise RunFault("refused", f"refused: it holds {nbytes} bytes{where}", lost=False)
        return address + step.offset

    def close(self) -> None:
        """Give the machine code back."""
        for module in self._modules.values():
            modules.unload_module(module)
        self._modules.clear()

    def _load(self, sha256: str, files: Mapping[str, str]) -> None:
        image = Path(files[sha256]).read_bytes()
        try:
            self._infos[sha256], self._local[sha256] = _read(image), _local_bytes(image)
            self._modules[sha256] = modules.load_module(image)
        except SpecError as error:
            raise RunFault("refused", f"refused: {error.message}", lost=False) from error
        except DriverFault as error:
            raise fault_of(error) from error

    def _prepare(self, kernel: PlanKernel) -> Function:
        where = f" (kernel `{kernel.entry}`)"
        entries = self._infos[kernel.sha256].entries
        if kernel.entry not in entries:
            valid = ", ".join(f"`{name}`" for name in entries) or "none"
            text = f"refused: the machine code has no kernel `{kernel.entry}`; it has {valid}"
            raise RunFault("refused", text, lost=False)
        try:
            function = modules.get_function(self._modules[kernel.sha256], kernel.entry)
            _check_block(function, kernel, where)
            _opt_in(function, kernel, where)
        except DriverFault as error:
            raise fault_of(error, where) from error
        return function


@lru_cache(maxsize=READ)
def _read(image: bytes) -> CubinInfo:
    """See `read_cubin`: the same image is loaded many times, for a check and again and again for
    blocks. Raises SpecError."""
    return read_cubin(image)


@lru_cache(maxsize=READ)
def _local_bytes(image: bytes) -> int:
    """Of the kernel with the largest stack; where none has one, instructions may reach what the
    driver keeps ready for each thread."""
    stack = max((entry.stack for entry in _read(image).entries.values()), default=0)
    return max(stack, LOCAL_BYTES) if stack or reaches_local(image) else 0


def keeps_state(plan: LaunchPlan, infos: Iterable[CubinInfo]) -> bool:
    """Whether anything that a run writes outlives it: variables that kernels can write, and those
    that a step sets from a buffer, `__constant__` ones included."""
    copied = any(isinstance(step, SetSymbol) and step.buffer is not None for step in plan.steps)
    return copied or any(info.state_bytes for info in infos)


def _check_block(function: Function, kernel: PlanKernel, where: str) -> None:
    x, y, z = kernel.block
    most = modules.function_attribute(function, modules.MAX_THREADS)
    if x * y * z > most:
        text = f"refused: a block of {x * y * z} threads; this kernel's registers allow {most}"
        raise RunFault("refused", text + where, lost=False)


def _opt_in(function: Function, kernel: PlanKernel, where: str) -> None:
    """Shared memory and clusters beyond what every GPU gives, the way Triton asks for them."""
    static = modules.function_attribute(function, modules.STATIC_SHARED)
    most = driver.device_attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") - static
    if kernel.shared > most:
        text = (
            f"refused: {kernel.shared} bytes of dynamic shared memory a block{where}; "
            f"this GPU allows {most} beside {static} static ones"
        )
        raise RunFault("refused", text, lost=False)
    if kernel.shared > PLAIN_SHARED or kernel.shared + static > PLAIN_SHARED:
        modules.prefer_shared(function)
        modules.set_function_attribute(function, modules.MAX_DYNAMIC_SHARED, most)
    cx, cy, cz = kernel.cluster or (1, 1, 1)
    if cx * cy * cz > PORTABLE_CLUSTER:
        modules.set_function_attribute(function, modules.NON_PORTABLE_CLUSTER, 1)
