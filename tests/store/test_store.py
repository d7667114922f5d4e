"""The store: values, records, close handles, and transactions that are whole or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from stores import grown, put

from kernelwright.runners.errors import HandleUnknown, StoreError
from kernelwright.runners.model import BuildOptions
from kernelwright.store.store import STATE_FILE, JsonObject, Store

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


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("shared") / STATE_FILE) as opened:
        yield opened


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
    assert caught.value.valid == "v12ab34cd; incumbent, baseline"
    assert "compile_variant" in caught.value.next_step


def test_a_handle_that_is_like_no_other_is_answered_with_the_newest(store: Store) -> None:
    with pytest.raises(HandleUnknown, match="Valid: none yet"):
        store.require("kernels", "nothing")
    for number in range(7):
        put(store, "kernels", f"softmax-{number}", {})
    with pytest.raises(HandleUnknown) as caught:
        store.require("kernels", "xyz")
    named = "softmax-6, softmax-5, softmax-4, softmax-3, softmax-2"
    assert caught.value.valid == f"{named} and 2 more"


def test_a_handle_of_another_kind_is_told_for_what_it_is(store: Store) -> None:
    put(store, "variants", "v12ab34cd", {"variant": {"kernel_id": "softmax-1"}})
    put(store, "jobs", "j1", {})
    for table, asked, told in (
        ("kernels", "v12ab34cd", "'v12ab34cd': it is a variant_id, of kernel softmax-1."),
        ("searches", "j1", "'j1': it is a job_id."),
    ):
        with pytest.raises(HandleUnknown) as caught:
            store.require(table, asked)
        assert caught.value.message == f"`{table}` holds no {told}"


# Writes


def test_the_newest_rows_are_read_by_pages_also_after_a_change_to_an_old_one(store: Store) -> None:
    for number in range(5):
        put(store, "jobs", f"j{number}", {"n": number})
    put(store, "jobs", "j0", {"n": 10})
    assert [key for key, _ in store.newest("jobs", 2)] == ["j4", "j3"]
    assert store.newest("jobs", 9, 4) == [("j0", {"n": 10})]
    assert store.newest("jobs", 9, 5) == []


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
