"""What a baseline computes, as the source of a reference: for kernels without one of their own.

Read from the baseline's source alone, never from a candidate's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from ..analysis.lift.expressions import Unreadable
from ..analysis.lift.reference import reference_source
from ..runners.languages import KernelType
from ..runners.loading.files import LoadedKernel
from .moves.cpp.schedules.parts.plain import plain_of as plain_of_cpp
from .moves.cuda.schedules.parts.plain import plain_of as plain_of_cuda
from .moves.shared.base import NotApplicable, State
from .moves.shared.lifted.computed import Computed
from .moves.shared.lifted.online import with_plain_folds
from .moves.triton.schedules.parts.plain import plain_of as plain_of_triton

READERS: Final[Mapping[KernelType, Callable[[State], Computed | NotApplicable]]] = {
    "cpp": plain_of_cpp,
    "cuda": plain_of_cuda,
    "triton": plain_of_triton,
}


def lifted_reference(loaded: LoadedKernel) -> str | None:
    """A numpy source with `reference` of what the baseline computes; None where it is not read
    whole, or sums nothing."""
    read = READERS.get(loaded.spec.kernel.kernel_type)
    if read is None:
        return None
    base = loaded.baseline()
    found = read(
        State(
            kernel_type=loaded.spec.kernel.kernel_type,
            source=base.source,
            parameters=base.parameters,
            options=base.options,
            spec=loaded.spec,
            plan=base.plan,
            files=loaded.files,
        )
    )
    if isinstance(found, NotApplicable):
        return None
    try:
        plain = replace(found.lifted, body=with_plain_folds(found.lifted.body))
        return reference_source(plain, loaded.spec)
    except (Unreadable, RecursionError):
        return None
