"""The state file: who else reads it, its versions, and what is said when it is damaged or full."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any, cast

import pytest
from sqlitedict import SqliteDict
from stores import put

from kernelwright.runners.errors import StoreError
from kernelwright.store.database import TABLES, inner
from kernelwright.store.store import MIGRATIONS, STATE_FILE, JsonObject, Migration, Store, Writer

# sqlitedict


def stock(path: Path, table: str, **options: Any) -> dict[str, JsonObject]:
    with SqliteDict(str(path), tablename=table, decode=json.loads, **options) as opened:
        return dict(cast(Any, opened).items())


@pytest.mark.parametrize("table", TABLES)
def test_stock_sqlitedict_reads_every_table(store: Store, path: Path, table: str) -> None:
    put(store, table, "k2", {"text": "gröber"})
    put(store, table, "k1", {"n": [1, None, 2.5]})
    found = stock(path, table, journal_mode="WAL")
    found.pop("schema", None)
    assert found == {"k2": {"text": "gröber"}, "k1": {"n": [1, None, 2.5]}}
    assert store.table(table).keys() >= found.keys()
    assert {k: v for k, v in store.table(table).items() if k != "schema"} == found


def test_a_file_that_stock_sqlitedict_took_out_of_wal_is_put_back(path: Path) -> None:
    with Store.open(path) as store:
        put(store, "kernels", "k1", {})
    assert stock(path, "kernels") == {"k1": {}}
    assert journal_mode(path) == "delete"
    with Store.open(path) as store:
        assert journal_mode(path) == "wal"
        assert store.get("kernels", "k1") == {}


def journal_mode(path: Path) -> str:
    connection = sqlite3.connect(path)
    try:
        return connection.execute("PRAGMA journal_mode").fetchone()[0]
    finally:
        connection.close()


# Versions


def widen(writer: Writer) -> None:
    writer.put("kernels", "k1", {**(writer.get("kernels", "k1") or {}), "widened": True})
    writer.append("transitions", {"by": "widen"})


def fail(writer: Writer) -> None:
    writer.put("kernels", "k1", {"half": "done"})
    raise RuntimeError("the second half failed")


def test_a_migration_commits_with_its_record_and_runs_once(path: Path) -> None:
    steps: tuple[Migration, ...] = (*MIGRATIONS, widen)
    with Store.open(path) as store:
        put(store, "kernels", "k1", {"name": "saxpy"})
    for _ in range(2):
        with Store.open(path, migrations=steps) as store:
            assert store.get("kernels", "k1") == {"name": "saxpy", "widened": True}
            assert store.count("transitions") == 1
            schema = store.require("meta", "schema")
            assert schema["version"] == len(steps)
            assert [step["name"] for step in schema["applied"]] == [s.__name__ for s in steps]


def test_a_migration_that_fails_leaves_the_file_at_its_version(path: Path) -> None:
    with Store.open(path) as store:
        put(store, "kernels", "k1", {"name": "saxpy"})
    with pytest.raises(RuntimeError, match="second half"):
        Store.open(path, migrations=(*MIGRATIONS, fail))
    with Store.open(path) as store:
        assert store.get("kernels", "k1") == {"name": "saxpy"}
        assert store.require("meta", "schema")["version"] == len(MIGRATIONS)


def test_a_file_of_a_newer_version_is_refused_with_what_to_do(path: Path) -> None:
    Store.open(path, migrations=(*MIGRATIONS, widen)).close()
    with pytest.raises(StoreError, match="upgrade Kernelwright"):
        Store.open(path)


def test_a_file_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE birds (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="not one of Kernelwright's"):
        Store.open(path)
    assert path.read_bytes() == before


# Indexes


def test_jobs_that_have_not_ended_are_found_without_reading_those_that_have(
    store: Store, path: Path
) -> None:
    for number in range(5):
        put(store, "jobs", f"j{number}", {"state": "done" if number else "running"})
    said = list[str]()
    with sqlite3.connect(path) as connection:
        where = f"WHERE {inner('state')} IN ('queued', 'running')"
        said = [
            row[-1]
            for row in connection.execute(f"EXPLAIN QUERY PLAN SELECT key FROM jobs {where}")
        ]
    connection.close()
    assert said and all(line.startswith("SEARCH jobs USING INDEX") for line in said), said
    assert store.having("jobs", "state", ("queued", "running")) == [("j0", {"state": "running"})]


def test_a_store_of_the_version_before_has_its_jobs_found_as_well(path: Path) -> None:
    with Store.open(path, migrations=MIGRATIONS[:3]) as store:
        put(store, "jobs", "j1", {"state": "queued"})
    with Store.open(path) as store:
        assert store.having("jobs", "state", ("queued",)) == [("j1", {"state": "queued"})]


# Damage and a full disk


@pytest.mark.parametrize("content", [b"hello", bytes(range(256)) * 64])
def test_a_file_of_garbage_is_a_store_error_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"damaged.*\nNext: .*move"):
        Store.open(path)
    assert path.read_bytes() == content


def filled(path: Path) -> bytes:
    with Store.open(path) as store, store.transaction() as writer:
        for n in range(100):
            writer.put("kernels", f"k{n}", {"text": "x" * 1000})
    return path.read_bytes()


@pytest.mark.parametrize("kept", [100, 4096, 10_000, 50_000])
def test_a_truncated_file_is_a_store_error(path: Path, kept: int) -> None:
    path.write_bytes(filled(path)[:kept])
    with pytest.raises(StoreError, match="damaged"):
        Store.open(path)


def test_damage_in_the_middle_is_a_store_error_where_it_is_met(path: Path) -> None:
    content = filled(path)
    half = len(content) // 4
    path.write_bytes(content[:half] + b"\x2a" * (len(content) - half))
    with pytest.raises(StoreError, match="damaged"), Store.open(path) as store:
        store.items("kernels")


@pytest.mark.parametrize("text", ["{", "[1]", b"\x80\x04K\x01."])
def test_a_value_that_another_program_wrote_wrong_is_a_store_error(
    store: Store, path: Path, text: str | bytes
) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO kernels VALUES ('k1', ?)", (text,))
    connection.close()
    with pytest.raises(StoreError, match="damaged: kernels/k1 is not"):
        store.get("kernels", "k1")


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(tmp_path / "file" / STATE_FILE)
    with pytest.raises(StoreError, match="cannot be opened"):
        Store.open(tmp_path)


def test_a_commit_is_synced(connections: list[sqlite3.Connection], path: Path) -> None:
    with Store.open(path):
        assert connections[0].execute("PRAGMA synchronous").fetchone() == (2,)


def test_a_full_disk_says_so_and_leaves_nothing_of_the_transaction(
    connections: list[sqlite3.Connection], path: Path
) -> None:
    with Store.open(path) as store:
        put(store, "kernels", "k1", {"name": "saxpy"})
        connections[0].execute("PRAGMA max_page_count = 40")
        with pytest.raises(StoreError, match="disk is full"), store.transaction() as writer:
            for n in range(100):
                writer.put("nodes", f"n{n}", {"text": "x" * 4000})
        assert store.items("kernels") == [("k1", {"name": "saxpy"})]
        assert store.count("nodes") == 0
        put(store, "kernels", "k2", {})


def test_going_on_after_a_full_disk_writes_nothing(
    connections: list[sqlite3.Connection], path: Path
) -> None:
    with Store.open(path) as store:
        connections[0].execute("PRAGMA max_page_count = 40")
        with pytest.raises(StoreError, match="over"), store.transaction() as writer:
            with pytest.raises(StoreError, match="disk is full"):
                writer.put("nodes", "n1", {"text": "x" * 400_000})
            writer.put("nodes", "n2", {})
        assert store.count("nodes") == 0
