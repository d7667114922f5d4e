"""What a handle that somebody types stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from ..runners.errors import HandleUnknown
from . import job_rows, kernels, searches, variants
from .store import Store

Kind = Literal["kernel", "variant", "search"]
TABLES: Final[Mapping[Kind, str]] = {
    "kernel": kernels.TABLE,
    "variant": variants.TABLE,
    "search": searches.TABLE,
}


def begun_with(store: Store, kind: Kind | Literal["job"], begun: str) -> tuple[str, ...]:
    """Handles of a kind that begin so: jobs the newest first, the rest in order of handles."""
    table = job_rows.TABLE if kind == "job" else TABLES[kind]
    found = tuple(key for key, _ in store.scan(table, begun))
    return tuple(sorted(found, key=lambda key: -int(key[1:]))) if kind == "job" else found


def find(store: Store, handle: str) -> tuple[Kind, str]:
    """What a handle, its beginning, or a kernel's name stands for: its kind and whole handle.

    Raises HandleUnknown, also when several begin like it.
    """
    for kind, table in TABLES.items():
        if store.get(table, handle) is not None:
            return kind, handle
    for kernel_id in kernels.kernels_named(store, handle):
        return "kernel", kernel_id
    begun: list[tuple[Kind, str]] = [
        (kind, key) for kind, table in TABLES.items() for key, _ in store.items(table, handle)
    ]
    if len(begun) == 1:
        return begun[0]
    raise HandleUnknown(
        f"{len(begun) or 'no'} handles begin with {handle!r}",
        valid=", ".join(key for _, key in begun[:6])
        or "the name of a kernel, or a kernel_id, variant_id or search_id",
        next_step="kernelwright show OUTDIR lists what there is",
    )
