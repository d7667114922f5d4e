"""What the store is asked: under which keys earlier versions wrote, and what the answers mean."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from stores import put

from kernelwright.runners.errors import HandleUnknown, StoreError
from kernelwright.runners.limits.limits import Peaks
from kernelwright.runners.model import Comparison, Ending, Evaluation, Record
from kernelwright.store.codec import JsonObject
from kernelwright.store.evaluations import (
    confirmation_of,
    evaluation_id,
    evaluation_of,
    is_refused,
    newest_evaluations,
    next_number,
    put_confirmation,
    put_evaluation,
    twin_of,
)
from kernelwright.store.handles import find
from kernelwright.store.job_rows import change_job, is_cancel_requested, next_job_id
from kernelwright.store.kernels import kernels_named, set_incumbent
from kernelwright.store.lessons import (
    append_memory,
    append_spent,
    append_transition,
    imported_regraphs,
    last_memory,
    last_transition,
    memory_rows,
    put_regraph,
    transition_rows,
)
from kernelwright.store.peaks import copy_bandwidth, host_peaks, put_copy_bandwidth, put_host_peaks
from kernelwright.store.records import Confirmation
from kernelwright.store.searches import (
    count_commit,
    graph_rows,
    known_ticket,
    put_graph_rows,
    put_search,
    put_ticket,
    require_search,
    revision_of,
    search_record,
    search_rows,
)
from kernelwright.store.store import Store

KERNEL, VARIANT = "k-1", "v1"


class Step(Record):
    """A row of a list that only grows."""

    kernel_id: str
    note: str


class Question(Record):
    """What a ticket stands for."""

    answered: bool = False


def evaluated(
    variant_id: str = VARIANT,
    number: int = 1,
    ending: Ending = Ending.wrong,
    code: str | None = None,
    same_code_as: str | None = None,
) -> Evaluation:
    timed = Comparison(
        candidate=variant_id, ratios=(), workloads=(), resolution=0.01, samples=0, seconds=0.0
    )
    return Evaluation(
        evaluation_id=evaluation_id(variant_id, number),
        variant_id=variant_id,
        kernel_id=KERNEL,
        ending=ending,
        tier="native",
        message=f"the evaluation number {number}",
        comparison=timed if ending.measured else None,
        code_hash=code,
        same_code_as=same_code_as,
    )


def write(store: Store, *evaluations: Evaluation) -> None:
    with store.transaction() as writer:
        for each in evaluations:
            put_evaluation(writer, each)


def confirmed(accepted: bool) -> Confirmation:
    return Confirmation(
        variant_id=VARIANT,
        right=True,
        gates=(),
        visible=None,
        held_out=None,
        accepted=accepted,
        message="compared again",
    )


def keys(store: Store, table: str) -> list[str]:
    """Those of a table; of `meta` without the store's own account of its schema."""
    return [key for key, _ in store.items(table) if key != "schema"]


def test_a_variant_that_nobody_evaluated_has_no_evaluation_and_begins_at_one(store: Store) -> None:
    assert evaluation_of(store, VARIANT) is None
    assert next_number(store, VARIANT) == 1


def test_the_newest_evaluation_is_the_one_of_the_highest_number(store: Store) -> None:
    write(store, *(evaluated(number=number) for number in (2, 10, 1)))
    newest = evaluation_of(store, VARIANT)
    assert newest is not None and newest.message == "the evaluation number 10"
    assert next_number(store, VARIANT) == 4
    assert evaluation_of(store, VARIANT[:-1]) is None, "a handle is no beginning of another"


def test_of_a_kernel_the_newest_evaluation_of_each_variant_counts(store: Store) -> None:
    other = evaluated("v3").model_copy(update={"kernel_id": "k-2"})
    write(store, evaluated(), evaluated(number=2), evaluated("v2"), other)
    newest = {each.variant_id: each.evaluation_id for each in newest_evaluations(store, KERNEL)}
    assert newest == {VARIANT: evaluation_id(VARIANT, 2), "v2": evaluation_id("v2", 1)}


def test_a_twin_is_another_variant_that_ended_for_good_with_the_same_code(store: Store) -> None:
    write(store, evaluated(code="abc"))
    assert twin_of(store, KERNEL, "abc", "v2") == VARIANT
    assert twin_of(store, KERNEL, "abc", VARIANT) is None, "nothing is a twin of itself"
    assert twin_of(store, "k-2", "abc", "v2") is None, "other kernels have other contracts"


def test_noise_hides_no_code_and_a_final_ending_of_it_comes_first(store: Store) -> None:
    write(store, evaluated("v1", ending=Ending.unstable, code="abc"))
    assert twin_of(store, KERNEL, "abc", "v9") == "v1"
    write(store, evaluated("v2", ending=Ending.unstable, code="abc"))
    assert twin_of(store, KERNEL, "abc", "v9") == "v1", "no better than the first"
    write(store, evaluated("v3", ending=Ending.tie, code="abc"))
    assert twin_of(store, KERNEL, "abc", "v9") == "v3"
    write(store, evaluated("v4", ending=Ending.unstable, code="abc"))
    assert twin_of(store, KERNEL, "abc", "v9") == "v3"


def test_who_shares_a_result_or_lost_its_process_is_nobodys_twin(store: Store) -> None:
    shared = evaluated("v2", code="abc", same_code_as=VARIANT)
    write(store, shared, evaluated("v3", ending=Ending.lost, code="def"))
    assert twin_of(store, KERNEL, "abc", "v9") is None
    assert twin_of(store, KERNEL, "def", "v9") is None


def test_a_variant_is_refused_by_its_last_confirmation_alone(store: Store) -> None:
    assert not is_refused(store, VARIANT)
    for accepted in (True, False, True):
        with store.transaction() as writer:
            put_confirmation(writer, confirmed(accepted))
        assert is_refused(store, VARIANT) is not accepted
        assert confirmation_of(store, VARIANT) == confirmed(accepted)


def test_a_new_incumbent_changes_nothing_else_of_a_kernel(store: Store) -> None:
    put(store, "kernels", KERNEL, {"baseline": "v0", "incumbent": "v0", "notes": ["one"]})
    with store.transaction() as writer:
        set_incumbent(writer, KERNEL, VARIANT)
    assert store.get("kernels", KERNEL) == {
        "baseline": "v0",
        "incumbent": VARIANT,
        "notes": ["one"],
    }


def test_kernels_of_one_name_come_in_the_order_in_which_they_were_opened(store: Store) -> None:
    for kernel_id, name in (("k-9", "sum"), ("k-1", "sum"), ("k-5", "max")):
        put(store, "kernels", kernel_id, {"loaded": {"spec": {"name": name}}})
    assert kernels_named(store, "sum") == ["k-9", "k-1"]


def test_a_handle_its_beginning_and_a_kernels_name_are_found_with_their_kind(store: Store) -> None:
    put(store, "kernels", "sum-1", {"loaded": {"spec": {"name": "sum"}}})
    put(store, "variants", "v12", {})
    put(store, "variants", "v1", {})
    put(store, "searches", "s77", {})
    assert find(store, "sum") == ("kernel", "sum-1")
    assert find(store, "s7") == ("search", "s77")
    assert find(store, "v1") == ("variant", "v1"), "a whole handle is no beginning"
    with pytest.raises(HandleUnknown, match="2 handles begin"):
        find(store, "v")
    with pytest.raises(HandleUnknown, match="no handles begin"):
        find(store, "nothing")


def test_a_search_is_read_back_with_its_graph_and_its_questions(store: Store) -> None:
    nodes, edges = [{"key": "n2"}, {"key": "n1"}], [{"edge_id": "0001"}]
    with store.transaction() as writer:
        put_search(writer, "s1", Question())
        put_graph_rows(writer, "s1", nodes, edges)
        put_graph_rows(writer, "s10", [{"key": "of another"}])
        put_ticket(writer, "t1", Question(answered=True))
    assert search_record(store, "s1", Question) == Question()
    assert search_rows(store) == [{"answered": False}]
    assert [list(rows) for rows in graph_rows(store, "s1")] == [nodes[::-1], edges]
    assert known_ticket(store, "t1", Question) == Question(answered=True)
    assert known_ticket(store, "t2", Question) is None
    with pytest.raises(HandleUnknown):
        require_search(store, "s2")


def test_a_question_that_is_none_is_told_as_every_other_damaged_record(store: Store) -> None:
    put(store, "tickets", "t1", {"something": "else"})
    with pytest.raises(StoreError, match="tickets/t1 is no Question"):
        known_ticket(store, "t1", Question)


def test_commits_to_a_search_are_counted_one_by_one(store: Store) -> None:
    assert revision_of(store, "s1") == 0
    for expected in (1, 2):
        with store.transaction() as writer:
            assert count_commit(writer, "s1") == expected
        assert revision_of(store, "s1") == expected
    assert revision_of(store, "s2") == 0


def test_a_list_that_grows_can_be_read_as_it_was(store: Store) -> None:
    with store.transaction() as writer:
        append_transition(writer, Step(kernel_id=KERNEL, note="first"))
        append_memory(writer, Step(kernel_id=KERNEL, note="tried"))
    then, known = last_transition(store), last_memory(store)
    with store.transaction() as writer:
        append_transition(writer, Step(kernel_id=KERNEL, note="second"))
        append_memory(writer, Step(kernel_id="k-2", note="elsewhere"))
        append_memory(writer, Step(kernel_id=KERNEL, note="again"))
        append_spent(writer, {"search_id": "s1", "builds": 1, "seconds": {}})
    assert notes(row for _, row in transition_rows(store, until=then)) == ["first"]
    assert notes(row for _, row in transition_rows(store, after=then)) == ["second"]
    assert notes(memory_rows(store, KERNEL, until=known)) == ["tried"]
    assert notes(memory_rows(store, KERNEL)) == ["tried", "again"]


def notes(rows: Iterable[JsonObject]) -> list[str]:
    return [Step.model_validate(row).note for row in rows]


def test_jobs_are_numbered_from_one_and_never_twice(store: Store) -> None:
    with store.transaction() as writer:
        assert [next_job_id(writer) for _ in range(3)] == ["j1", "j2", "j3"]
    with store.transaction() as writer:
        assert next_job_id(writer) == "j4"


def test_a_wish_to_end_a_job_is_seen(store: Store) -> None:
    put(store, "jobs", "j1", {"cancel_requested": False})
    assert not is_cancel_requested(store, "j1")
    with store.transaction() as writer:
        change_job(writer, "j1", lambda row: {**(row or {}), "cancel_requested": True})
    assert is_cancel_requested(store, "j1")


def test_keys_are_those_of_every_version_before(store: Store) -> None:
    """A state folder outlives the program that wrote it: who changes a key loses what is there."""
    peaks = Peaks(
        copy_bytes_per_s=1.0, flops_per_s=1.0, source="measured", device="here", method="given"
    )
    write(store, evaluated(code="abc"))
    with store.transaction() as writer:
        put_confirmation(writer, confirmed(True))
        put_host_peaks(writer, peaks)
        put_copy_bandwidth(writer, "GPU-1", 2.5)
        put_regraph(writer, "digest", Question())
        count_commit(writer, "s1")
        put_graph_rows(writer, "s1", [{"key": "n"}], [{"edge_id": "e"}])
        append_transition(writer, Question())
        append_memory(writer, Question())
        append_spent(writer, {})
        next_job_id(writer)
    assert (host_peaks(store), copy_bandwidth(store, "GPU-1")) == (peaks, 2.5)
    assert list(imported_regraphs(store)) == ["digest"]
    assert keys(store, "evaluations") == ["v1/0001"]
    assert keys(store, "nodes") + keys(store, "edges") == ["s1/n", "s1/e"]
    assert keys(store, "transitions") == keys(store, "memory") == ["000000000001"]
    assert keys(store, "ledger") == ["000000000001"]
    assert keys(store, "meta") == [
        "bandwidth/GPU-1",
        "code/k-1/abc",
        "confirmation/v1",
        "peaks/host",
        "regraph/digest",
        "revision/s1",
        "sequence:jobs",
        "sequence:ledger",
        "sequence:memory",
        "sequence:transitions",
    ]


def test_what_an_earlier_version_wrote_is_read_from_where_it_lies(store: Store) -> None:
    rows: list[tuple[str, str, JsonObject]] = [
        ("meta", "code/k-1/abc", {"variant_id": "v7"}),
        ("meta", "bandwidth/GPU-1", {"bytes_per_s": 3.0}),
        ("meta", "revision/s1", {"commits": 5}),
        ("meta", "regraph/of elsewhere", {"kept": 1}),
        ("meta", "sequence:jobs", {"last": 8}),
    ]
    for table, key, row in rows:
        put(store, table, key, row)
    assert twin_of(store, KERNEL, "abc", VARIANT) == "v7"
    assert copy_bandwidth(store, "GPU-1") == 3.0
    assert revision_of(store, "s1") == 5
    assert imported_regraphs(store) == {"of elsewhere": {"kept": 1}}
    with store.transaction() as writer:
        assert next_job_id(writer) == "j9"
