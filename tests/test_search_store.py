from __future__ import annotations

import json
import random
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlitedict import SqliteDict

from kernelwright.runners.errors import HandleUnknown, StoreError
from kernelwright.runners.model import BuildOptions
from kernelwright.search.store import (
    MIGRATIONS,
    STATE_FILE,
    TABLES,
    JsonObject,
    Migration,
    Store,
    Writer,
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # Lone surrogates too: compilers print bytes that are no UTF-8.
    | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
json_objects = st.dictionaries(st.text(), json_values, max_size=5)
keys = st.text(max_size=8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / STATE_FILE


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("shared") / STATE_FILE) as opened:
        yield opened


def put(store: Store, table: str, key: str, value: JsonObject) -> None:
    with store.transaction() as writer:
        writer.put(table, key, value)


def grown(value: JsonObject | None) -> JsonObject:
    return {"n": (value or {"n": 0})["n"] + 1}


class Child:
    """A Python process that runs `code` with `path` and `store` at hand, line by line."""

    def __init__(self, path: Path, code: str) -> None:
        head = (
            "import sys; from pathlib import Path\n"
            "from kernelwright.search.store import Store\n"
            f"path = Path({str(path)!r})\n"
            "def say(*words): print(*words, flush=True)\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", head + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines = cast(IO[str], self.process.stdout)

    def hear(self) -> str:
        return self.lines.readline().strip()

    def go(self) -> None:
        stdin = cast(IO[str], self.process.stdin)
        stdin.write("go\n")
        stdin.flush()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


# Values


def test_a_value_put_is_the_value_got(store: Store) -> None:
    put(store, "kernels", "k1", {"name": "saxpy"})
    assert store.get("kernels", "k1") == {"name": "saxpy"}
    assert store.get("variants", "k1") is None
    assert store.count("kernels") == 1


def test_a_value_put_twice_is_the_later_one(store: Store) -> None:
    put(store, "kernels", "k1", {"name": "saxpy"})
    put(store, "kernels", "k1", {"name": "daxpy"})
    assert store.items("kernels") == [("k1", {"name": "daxpy"})]


@given(key=keys, value=json_objects)
def test_any_json_object_comes_back_as_it_was(
    shared_store: Store, key: str, value: JsonObject
) -> None:
    put(shared_store, "memory", key, value)
    assert shared_store.get("memory", key) == value


@given(names=st.sets(keys, max_size=12), prefix=st.text(max_size=2))
@example(names={"a"}, prefix="")
@example(names={"\U0010ffff" * 3}, prefix="\U0010ffff")
@example(names={"a\U0010ffff\U0010ffffb", "b"}, prefix="a\U0010ffff")
@example(names={"\ud7ff", "\ue000"}, prefix="\ud7ff")
def test_a_prefix_scan_finds_exactly_the_keys_with_that_prefix_in_order(
    shared_store: Store, names: set[str], prefix: str
) -> None:
    wanted = {*names, prefix, prefix + "\U0010ffff", prefix + "a"}
    with shared_store.transaction() as writer:
        for key, _ in shared_store.items("nodes"):
            writer.delete("nodes", key)
        for key in wanted:
            writer.put("nodes", key, {"key": key})
    found = shared_store.items("nodes", prefix)
    assert found == [(k, {"key": k}) for k in sorted(wanted) if k.startswith(prefix)]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, b"bytes"])
def test_a_value_that_is_not_json_is_refused_by_its_key(store: Store, value: object) -> None:
    with pytest.raises(StoreError, match="ledger/gpu is not JSON"):
        put(store, "ledger", "gpu", {"seconds": value})
    assert store.count("ledger") == 0


def test_a_key_that_is_not_utf8_is_refused(store: Store) -> None:
    with pytest.raises(StoreError, match="UTF-8"):
        put(store, "ledger", "\ud800", {})


def test_a_table_that_is_not_there_is_refused_with_the_tables(store: Store) -> None:
    with pytest.raises(StoreError, match="kernels, variants"):
        store.get("kernel", "k1")


def test_records_come_back_as_records(store: Store) -> None:
    options = BuildOptions(compiler="g++", flags=("-O3",))
    with store.transaction() as writer:
        writer.put_record("artifacts", "a1", options)
    assert store.get_record("artifacts", "a1", BuildOptions) == options
    assert store.require_record("artifacts", "a1", BuildOptions) == options
    assert store.get_record("artifacts", "a2", BuildOptions) is None


def test_a_value_that_does_not_fit_its_record_is_a_store_error(store: Store) -> None:
    put(store, "artifacts", "a1", {"speed": 3})
    with pytest.raises(StoreError, match="artifacts/a1 is no BuildOptions"):
        store.get_record("artifacts", "a1", BuildOptions)


@pytest.mark.parametrize("asked", ["v12ab", "v12ab34de", "V12ab34cd"])
def test_an_unknown_handle_is_answered_with_close_ones_and_what_to_call(
    store: Store, asked: str
) -> None:
    put(store, "variants", "v12ab34cd", {})
    put(store, "variants", "v99999999", {})
    with pytest.raises(HandleUnknown) as caught:
        store.require("variants", asked)
    assert caught.value.valid == "v12ab34cd"
    assert "compile_variant" in caught.value.next_step


# Writes


def test_add_refuses_a_key_that_is_there_and_keeps_the_old_value(store: Store) -> None:
    put(store, "jobs", "j1", {"state": "done"})
    with pytest.raises(StoreError, match="already holds 'j1'"), store.transaction() as writer:
        writer.add("jobs", "j1", {"state": "new"})
    assert store.get("jobs", "j1") == {"state": "done"}


def test_delete_tells_whether_there_was_something(store: Store) -> None:
    put(store, "jobs", "j1", {})
    with store.transaction() as writer:
        assert writer.delete("jobs", "j1")
        assert not writer.delete("jobs", "j1")
    assert store.get("jobs", "j1") is None


def test_update_sees_the_present_value_and_returns_the_new_one(store: Store) -> None:
    with store.transaction() as writer:
        assert writer.update("ledger", "builds", grown) == {"n": 1}
        assert writer.update("ledger", "builds", grown) == {"n": 2}
    assert store.get("ledger", "builds") == {"n": 2}


def test_append_numbers_a_log_in_key_order_and_never_gives_a_number_twice(store: Store) -> None:
    with store.transaction() as writer:
        first = [writer.append("transitions", {"step": n}) for n in range(12)]
        writer.delete("transitions", first[-1])
        after = writer.append("transitions", {"step": 12})
        elsewhere = writer.append("edges", {})
    assert first == sorted(first)
    assert after > first[-1]
    assert elsewhere == first[0]
    assert [v["step"] for _, v in store.items("transitions")] == [*range(11), 12]


# Transactions


def test_two_tables_change_together(store: Store) -> None:
    with store.transaction() as writer:
        writer.put("nodes", "n1", {})
        writer.put("edges", "e1", {})
    assert (store.count("nodes"), store.count("edges")) == (1, 1)


def test_an_exception_leaves_neither_of_two_tables_changed(store: Store) -> None:
    with pytest.raises(KeyboardInterrupt), store.transaction() as writer:
        writer.put("nodes", "n1", {})
        writer.put("edges", "e1", {})
        raise KeyboardInterrupt
    assert (store.count("nodes"), store.count("edges")) == (0, 0)
    put(store, "nodes", "n2", {})


def test_a_transaction_reads_what_it_wrote_and_others_do_not(store: Store, path: Path) -> None:
    with Store.open(path) as other, store.transaction() as writer:
        writer.put("nodes", "n1", {"visits": 1})
        assert writer.get("nodes", "n1") == store.get("nodes", "n1") == {"visits": 1}
        assert other.get("nodes", "n1") is None
        assert store.table("nodes") == {}


def test_a_transaction_inside_a_transaction_is_refused(store: Store) -> None:
    with store.transaction() as writer:
        with pytest.raises(StoreError, match="do not nest"), store.transaction():
            pass
        with pytest.raises(StoreError, match="do not nest"):
            store.close()
        writer.put("nodes", "n1", {})
    assert store.count("nodes") == 1


def test_a_writer_is_of_no_use_after_its_transaction(store: Store) -> None:
    with store.transaction() as old:
        pass
    with pytest.raises(StoreError, match="over"):
        old.put("nodes", "n1", {})
    with store.transaction(), pytest.raises(StoreError, match="over"):
        old.put("nodes", "n1", {})
    assert store.count("nodes") == 0


def test_a_closed_store_says_so(path: Path) -> None:
    store = Store.open(path)
    store.close()
    calls: list[Callable[[], object]] = [
        lambda: store.get("nodes", "n1"),
        lambda: store.table("nodes"),
        lambda: put(store, "nodes", "n1", {}),
    ]
    for call in calls:
        with pytest.raises(StoreError, match="closed"):
            call()


def test_threads_of_one_store_lose_no_update(store: Store) -> None:
    def count_to_25(_: int) -> None:
        for _ in range(25):
            with store.transaction() as writer:
                writer.update("ledger", "builds", grown)
            assert store.items("ledger")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count_to_25, range(8)))
    assert store.get("ledger", "builds") == {"n": 200}


def test_a_thread_never_sees_half_of_the_transaction_of_another(store: Store) -> None:
    put(store, "nodes", "n1", {"n": 0})
    over = threading.Event()

    def seen() -> set[int]:
        numbers = {store.require("nodes", "n1")["n"]}
        while not over.is_set():
            numbers.add(store.require("nodes", "n1")["n"])
        return numbers

    with ThreadPoolExecutor(2) as pool:
        readers = [pool.submit(seen) for _ in range(2)]
        for _ in range(50):
            with store.transaction() as writer:
                writer.update("nodes", "n1", grown)
                writer.update("nodes", "n1", grown)
        over.set()
        assert [n for reader in readers for n in reader.result() if n % 2] == []


# Processes

COUNT_TO_50 = """
with Store.open(path) as store:
    say("ready"); sys.stdin.readline()
    for _ in range(50):
        with store.transaction() as writer:
            writer.update("ledger", "builds", lambda v: {"n": (v or {"n": 0})["n"] + 1})
say("done")
"""

OPEN_NEW_FILES = """
for n in range(40):
    say("ready"); sys.stdin.readline()
    with Store.open(path.with_name(f"{n}.sqlite")) as store, store.transaction() as writer:
        writer.append("transitions", {})
say("done")
"""


@pytest.fixture
def four(path: Path) -> Iterator[Callable[[str], list[Child]]]:
    children: list[Child] = []

    def start(code: str) -> list[Child]:
        children.extend(Child(path, code) for _ in range(4))
        return children

    yield start
    for child in children:
        child.__exit__()


def test_four_processes_lose_no_update(path: Path, four: Callable[[str], list[Child]]) -> None:
    children = four(COUNT_TO_50)
    assert [c.hear() for c in children] == ["ready"] * 4
    for child in children:
        child.go()
    assert [c.hear() for c in children] == ["done"] * 4
    with Store.open(path) as store:
        assert store.get("ledger", "builds") == {"n": 200}


def test_four_processes_may_make_a_new_file_at_once(
    path: Path, four: Callable[[str], list[Child]]
) -> None:
    children = four(OPEN_NEW_FILES)
    for _ in range(40):
        assert [c.hear() for c in children] == ["ready"] * 4
        for child in children:
            child.go()
    assert [c.hear() for c in children] == ["done"] * 4
    for n in range(40):
        with Store.open(path.with_name(f"{n}.sqlite")) as store:
            assert store.count("transitions") == 4


WRITE_FOREVER = """
from itertools import count
with Store.open(path) as store:
    for n in count():
        with store.transaction() as writer:
            writer.add("nodes", f"%s-{n}", {"text": "x" * 5000})
            writer.update("ledger", "nodes", lambda v: {"n": (v or {"n": 0})["n"] + 1})
            writer.append("transitions", {"to": n})
        say(f"%s-{n}")
"""


def test_a_killed_process_loses_nothing_that_it_acknowledged(path: Path) -> None:
    chance = random.Random(7)
    told: set[str] = set()
    for round_ in range(5):
        with Child(path, WRITE_FOREVER.replace("%s", str(round_))) as child:
            told |= {child.hear() for _ in range(chance.randint(1, 300))}
            child.process.kill()
            told |= {line.strip() for line in child.lines if line.endswith("\n")}
            child.process.wait()
        with Store.open(path) as store:
            kept = {key for key, _ in store.items("nodes")}
            assert told <= kept
            assert len(kept - told) <= round_ + 1  # at most one a round was not told of yet
            assert store.get("ledger", "nodes") == {"n": len(kept)}
            assert store.count("transitions") == len(kept)


HOLD = """
with Store.open(path) as store:
    with store.transaction() as writer:
        writer.put("ledger", "builds", {"n": 1})
        say("held"); sys.stdin.readline()
say("done")
"""


def test_a_locked_file_names_the_process_that_holds_it(path: Path) -> None:
    with Store.open(path, busy_seconds=0.0) as store, Child(path, HOLD) as child:
        assert child.hear() == "held"
        with pytest.raises(StoreError, match="locked") as caught:
            put(store, "ledger", "builds", {"n": 2})
        if Path("/proc/locks").exists():
            assert f"process {child.process.pid}" in str(caught.value)
        assert store.get("ledger", "builds") is None, "a reader does not wait for a writer"
        child.go()
        assert child.hear() == "done"
        put(store, "ledger", "builds", {"n": 2})


def test_a_writer_waits_for_the_process_that_holds_the_file(store: Store, path: Path) -> None:
    with Child(path, HOLD) as child, ThreadPoolExecutor(1) as pool:
        assert child.hear() == "held"
        waiting = pool.submit(put, store, "ledger", "builds", {"n": 2})
        assert not waiting.done()
        child.go()
        waiting.result(timeout=60)
    assert store.get("ledger", "builds") == {"n": 2}


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
            assert [step["name"] for step in schema["applied"]] == ["first_tables", "widen"]


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


@pytest.fixture
def connections(monkeypatch: pytest.MonkeyPatch) -> list[sqlite3.Connection]:
    """The connections that stores open from now on."""
    opened: list[sqlite3.Connection] = []
    connect = sqlite3.connect

    def recorded(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", recorded)
    return opened


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
