"""Everything that can go wrong and is told to a reader, in one tree.

KernelwrightError
├── SpecError            a spec, contract or candidate that does not say what it must
│   └── ExpressionError  an expression over symbols that is not allowed or has no value
├── AccessError          a path outside the allowed roots, or a file that cannot be read
├── ReferenceFailed      the reference raised, or returned what the contract does not promise
├── BaselineRefused      the baseline does not build, or does not agree with its reference
├── HandleUnknown        a kernel_id, variant_id, search_id or job_id that the store does not hold
├── SearchBusy           a search that another process or session is stepping
├── ToolchainMissing     no compiler or driver on this machine for what was asked
├── DeviceMissing        no GPU here on which this kernel could run
├── DeviceBusy           a GPU that others compute on, where a search was to have it alone
├── ProfileFailed        a profiler that profiled nothing, or a report that cannot be used
│   └── CountersMissing  a GPU whose counters this process may not read, or not now
├── ProcessLost          a process of ours ended when it should not have
│   ├── NoRoom           a folder of ours is full, or may not be written to
│   └── SideFailed       what a candidate is compared with failed itself
├── PlannerFailed        whoever was asked for candidates gave none: no answer, or no usable one
├── BudgetSpent          a call that could cost more than is left to spend
└── StoreError           the state file is of another version, locked, or damaged

A candidate that does not build, is wrong or hangs is not an error: it is an
Evaluation with an ending (`model.Ending`).
"""

from __future__ import annotations


class KernelwrightError(Exception):
    """What was wrong, what is valid, and what to do next, in words for a person or a model."""

    def __init__(self, message: str, *, valid: str = "", next_step: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.valid = valid
        self.next_step = next_step

    def __str__(self) -> str:
        parts = [self.message]
        if self.valid:
            parts.append(f"Valid: {self.valid}")
        if self.next_step:
            parts.append(f"Next: {self.next_step}")
        return "\n".join(parts)


class SpecError(KernelwrightError):
    """A spec, contract or candidate that does not say what it must."""


class ExpressionError(SpecError):
    """An expression over symbols that is not allowed or has no value."""


class AccessError(KernelwrightError):
    """A path outside the allowed roots, or a file that cannot be read."""


class ReferenceFailed(KernelwrightError):
    """The reference raised, or returned what the contract does not promise."""


class BaselineRefused(KernelwrightError):
    """The baseline does not build, or does not agree with its reference."""


class HandleUnknown(KernelwrightError):
    """A handle that the store does not hold."""


class SearchBusy(KernelwrightError):
    """A search that another process or session is stepping."""


class ToolchainMissing(KernelwrightError):
    """No compiler or driver on this machine for what was asked."""


class DeviceMissing(KernelwrightError):
    """No GPU here on which this kernel could run."""


class DeviceBusy(KernelwrightError):
    """A GPU that others compute on, where a search was to have it alone."""


class ProfileFailed(KernelwrightError):
    """A profiler that profiled nothing, or a report that cannot be used."""


class CountersMissing(ProfileFailed):
    """A GPU whose counters this process may not read, or not now."""


class ProcessLost(KernelwrightError):
    """A process of ours ended when it should not have."""


class NoRoom(ProcessLost):
    """A folder of ours is full or may not be written to: our work failed, not the candidate."""


class SideFailed(ProcessLost):
    """A variant with which another was to be compared failed itself; `side` is its id."""

    def __init__(self, side: str, message: str, *, next_step: str = "") -> None:
        super().__init__(message, next_step=next_step)
        self.side = side


class PlannerFailed(KernelwrightError):
    """Whoever was asked for candidates gave no answer, or none that can be used."""


class BudgetSpent(KernelwrightError):
    """A call that could cost more than is left to spend; it was not made."""


class StoreError(KernelwrightError):
    """The state file is of another version, locked, or damaged."""
