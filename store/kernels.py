"""Kernels as the store has them: what was opened, and which variant is the incumbent."""

from __future__ import annotations

from .codec import JsonObject
from .records import KernelRecord
from .store import Store
from .writer import Writer

TABLE = "kernels"


def kernel_record(store: Store, kernel_id: str) -> KernelRecord:
    """A kernel. Raises HandleUnknown."""
    return store.require_record(TABLE, kernel_id, KernelRecord)


def kernel_row(store: Store, kernel_id: str) -> JsonObject:
    """A kernel's row as it is on disk, which is cheaper to compare than to read. Raises
    HandleUnknown."""
    return store.require(TABLE, kernel_id)


def known_kernel(store: Store, kernel_id: str) -> KernelRecord | None:
    """A kernel; None before it was opened."""
    return store.get_record(TABLE, kernel_id, KernelRecord)


def is_kernel(store: Store, kernel_id: str) -> bool:
    """Whether it was opened."""
    return store.get(TABLE, kernel_id) is not None


def kernel_records(store: Store) -> list[KernelRecord]:
    """Every kernel, the first opened first."""
    return [KernelRecord.model_validate(row) for row in store.table(TABLE).values()]


def kernels_named(store: Store, name: str) -> list[str]:
    """The ids of all kernels whose spec has a name, the first opened first."""
    rows = store.table(TABLE).items()
    return [kernel_id for kernel_id, row in rows if row["loaded"]["spec"]["name"] == name]


def put_kernel(writer: Writer, record: KernelRecord) -> None:
    """Write a kernel that was opened."""
    writer.put_record(TABLE, record.kernel_id, record)


def set_incumbent(writer: Writer, kernel_id: str, variant_id: str) -> None:
    """Make a variant the kernel's incumbent."""
    incumbent = {"incumbent": variant_id}
    writer.update(TABLE, kernel_id, lambda known: {**(known or {}), **incumbent})
