"""What the CUDA driver reports, as words for a reader, and what it means for the process.

After a *sticky* error every later call of the process fails: the process is replaced. All other
refusals (a launch that asks for too much, machine code that does not load) leave it usable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from ...errors import KernelwrightError

FaultKind = Literal["timed_out", "crashed", "refused", "no_room", "unplaced"]

ILLEGAL_ADDRESS = "CUDA_ERROR_ILLEGAL_ADDRESS"
STICKY: Mapping[str, str] = {
    ILLEGAL_ADDRESS: "illegal address: it read or wrote memory that is not there",
    "CUDA_ERROR_MISALIGNED_ADDRESS": "misaligned address: an access of 2, 4, 8 or 16 bytes at an "
    "address that is no multiple of that",
    "CUDA_ERROR_INVALID_ADDRESS_SPACE": "invalid address space: an instruction for shared, local "
    "or global memory got an address of another kind",
    "CUDA_ERROR_INVALID_PC": "invalid program counter: it jumped to where no code is",
    "CUDA_ERROR_ILLEGAL_INSTRUCTION": "illegal instruction: a trap, or an operand that the "
    "instruction does not allow (tensor maps and barriers are checked so)",
    "CUDA_ERROR_HARDWARE_STACK_ERROR": "hardware stack error: the call stack is damaged or full",
    "CUDA_ERROR_ASSERT": "an assert() in the kernel failed",
    "CUDA_ERROR_LAUNCH_FAILED": "launch failure: a trap, or an exception on the device with no "
    "name of its own",
    "CUDA_ERROR_LAUNCH_TIMEOUT": "launch timeout: the system ended a kernel that ran too long",
    "CUDA_ERROR_ECC_UNCORRECTABLE": "an uncorrectable error of the device's memory",
    "CUDA_ERROR_TENSOR_MEMORY_LEAK": "tensor memory that was allocated and not freed",
    "CUDA_ERROR_UNKNOWN": "an error that the driver calls unknown",
}
REFUSED: Mapping[str, str] = {
    "CUDA_ERROR_INVALID_IMAGE": "the driver does not accept the machine code",
    "CUDA_ERROR_INVALID_SOURCE": "the driver does not accept the machine code",
    "CUDA_ERROR_INVALID_PTX": "the driver does not accept the PTX",
    "CUDA_ERROR_UNSUPPORTED_PTX_VERSION": "the PTX is newer than the driver",
    "CUDA_ERROR_NO_BINARY_FOR_GPU": "the machine code is for another GPU",
    "CUDA_ERROR_NOT_FOUND": "the machine code has no such name",
    "CUDA_ERROR_OUT_OF_MEMORY": "out of device memory",
    "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES": "a block asks for more registers, threads or shared "
    "memory than a multiprocessor has",
    "CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE": "a cooperative grid must be resident at once, and "
    "this one is too large for the GPU",
    "CUDA_ERROR_INVALID_CLUSTER_SIZE": "the cluster does not fit the grid or the GPU",
    "CUDA_ERROR_INVALID_VALUE": "the driver calls a value of the launch invalid (block, grid, "
    "cluster or shared memory)",
    "CUDA_ERROR_NO_DEVICE": "the driver sees no GPU",
}


class DriverFault(KernelwrightError):
    """A call of the driver that failed: the error's `name`, the call and its meaning in words."""

    def __init__(self, name: str, call: str) -> None:
        words = STICKY.get(name) or REFUSED.get(name)
        super().__init__(words or f"{call} failed with {name}")
        self.name = name
        self.call = call

    @property
    def sticky(self) -> bool:
        """Whether the process is of no use any more."""
        return self.name in STICKY


class OutOfDeviceMemory(DriverFault):
    """An allocation that the device has no room for."""


class RunFault(Exception):
    """A variant that could not be run to its end; handled inside the runner process.

    `lost`: the process must be replaced. `variant`: whose fault, once that is known.
    """

    variant = ""

    def __init__(self, kind: FaultKind, detail: str, *, lost: bool) -> None:
        super().__init__(detail)
        self.kind: FaultKind = kind
        self.detail = detail
        self.lost = lost


def fault_of(error: DriverFault, where: str = "") -> RunFault:
    """What a failed call means for the variant that was being prepared or run."""
    detail = f"{error.message}{where}" if error.sticky else f"refused: {error.message}{where}"
    return RunFault("crashed" if error.sticky else "refused", detail, lost=error.sticky)
