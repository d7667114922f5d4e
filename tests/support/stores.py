"""Writes to a store, for the tests of it."""

from __future__ import annotations

from kernelwright.store.store import JsonObject, Store


def put(store: Store, table: str, key: str, value: JsonObject) -> None:
    with store.transaction() as writer:
        writer.put(table, key, value)


def grown(value: JsonObject | None) -> JsonObject:
    return {"n": (value or {"n": 0})["n"] + 1}
