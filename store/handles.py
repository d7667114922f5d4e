"""What a handle that somebody types stands for."""

from __future__ import annotations

from typing import Literal

from ..runners.errors import HandleUnknown
from .kernels import kernels_named
from .store import Store

Table = Literal["kernels", "variants", "searches"]
TABLES: tuple[Table, ...] = ("kernels", "variants", "searches")


def find(store: Store, handle: str) -> tuple[Table, str]:
    """The table and key that a handle, its beginning, or a kernel's name stands for.

    Raises HandleUnknown, also when several begin like it.
    """
    for whole in TABLES:
        if store.get(whole, handle) is not None:
            return whole, handle
    for kernel_id in kernels_named(store, handle):
        return "kernels", kernel_id
    begun: list[tuple[Table, str]] = [
        (table, key) for table in TABLES for key, _ in store.items(table, handle)
    ]
    if len(begun) == 1:
        return begun[0]
    raise HandleUnknown(
        f"{len(begun) or 'no'} handles begin with {handle!r}",
        valid=", ".join(key for _, key in begun[:6])
        or "the name of a kernel, or a kernel_id, variant_id or search_id",
        next_step="kernelwright show OUTDIR lists what there is",
    )
