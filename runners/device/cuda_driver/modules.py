"""Machine code in the driver: modules, the kernels and variables in them, what kernels may use.

Calls raise as those of `driver.py`.
"""

from __future__ import annotations

from typing import NewType

from .driver import binding, call

Module = NewType("Module", object)
Function = NewType("Function", object)

STATIC_SHARED, MAX_THREADS, MAX_DYNAMIC_SHARED, NON_PORTABLE_CLUSTER = 1, 0, 8, 14
"""CUfunction_attribute"""
PREFER_SHARED = 1
"""CUfunc_cache"""


def load_module(image: bytes) -> Module:
    """Machine code, or PTX that the driver translates."""
    return call("cuModuleLoadData", image)


def unload_module(module: Module) -> None:
    """Give machine code and its variables back."""
    call("cuModuleUnload", module)


def get_function(module: Module, entry: str) -> Function:
    """A kernel by its name in the machine code."""
    return call("cuModuleGetFunction", module, entry.encode())


def get_global(module: Module, symbol: str) -> tuple[int, int]:
    """Address and size of a variable of a module."""
    address, nbytes = call("cuModuleGetGlobal", module, symbol.encode())
    return int(address), int(nbytes)


def function_attribute(function: Function, which: int) -> int:
    """By its number in CUfunction_attribute."""
    cuda = binding()
    return int(call("cuFuncGetAttribute", cuda.CUfunction_attribute(which), function))


def set_function_attribute(function: Function, which: int, value: int) -> None:
    """By its number in CUfunction_attribute."""
    call("cuFuncSetAttribute", function, binding().CUfunction_attribute(which), value)


def prefer_shared(function: Function) -> None:
    """Ask for more shared memory at the price of L1."""
    call("cuFuncSetCacheConfig", function, binding().CUfunc_cache(PREFER_SHARED))


def blocks_per_multiprocessor(function: Function, threads: int, shared: int) -> int:
    """How many blocks of a kernel are resident at once."""
    name = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
    return int(call(name, function, threads, shared))
