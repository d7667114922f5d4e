"""Variants by the names of their places: `incumbent` and `baseline`, wherever an id may stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel

from ...runners.errors import SpecError
from ...store.kernels import kernel_record, kernel_records

if TYPE_CHECKING:
    from ...search.session.workbench import Workbench
    from ...store.records import KernelRecord
    from ...store.store import Store

A = TypeVar("A", bound=BaseModel)
PLACES = ("incumbent", "baseline")
FIELDS = ("variant_id", "other")


def with_ids(bench: Workbench, arguments: A) -> A:
    """The arguments with the id of whichever variant is meant now, where they name its place:
    `incumbent`, or `KERNEL_ID/incumbent` where several kernels are open. Tools with a kernel_id
    look for themselves. Raises HandleUnknown, SpecError."""
    if getattr(arguments, "kernel_id", None) is not None:
        return arguments
    fields = (*FIELDS, "id") if getattr(arguments, "what", None) == "variant" else FIELDS
    given = {name: getattr(arguments, name, None) for name in fields}
    found = {
        name: _variant_at(bench.store, value)
        for name, value in given.items()
        if isinstance(value, str) and value.rpartition("/")[2] in PLACES
    }
    return arguments.model_copy(update=found) if found else arguments


def _variant_at(store: Store, name: str) -> str:
    kernel_id, _, place = name.rpartition("/")
    kernel = kernel_record(store, kernel_id) if kernel_id else _only_kernel(store, place)
    return kernel.incumbent if place == "incumbent" else kernel.baseline


def _only_kernel(store: Store, place: str) -> KernelRecord:
    known = kernel_records(store)
    if len(known) == 1:
        return known[0]
    raise SpecError(
        f"`{place}` of which kernel?" if known else f"there is no `{place}`: no kernel is open",
        valid=", ".join(f"{kernel.kernel_id}/{place}" for kernel in known),
        next_step="name the kernel as well" if known else "call open_kernel first",
    )
