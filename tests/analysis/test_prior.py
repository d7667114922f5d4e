"""The prior model: its laws, its table, and what signals are made of."""

from __future__ import annotations

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import PLANTED, profile
from profiles import launch, run
from ptx_texts import NAMES, kernel_text, text

from kernelwright.analysis.levels import Level
from kernelwright.analysis.prior.model import LOW_CONFIDENCE, STATIC, MovePrior, Row, Signal, merged
from kernelwright.analysis.prior.signals import of_findings, of_language
from kernelwright.analysis.prior.structure import of_structure, of_structures
from kernelwright.analysis.prior.table import ROWS, SILENT
from kernelwright.analysis.prior.weighing import SATURATED_WEIGHT, weigh
from kernelwright.analysis.ptx import read_ptx
from kernelwright.analysis.regions import region_dag_of
from kernelwright.analysis.rules.bottleneck import Bottleneck
from kernelwright.analysis.rules.findings import findings
from kernelwright.analysis.rules.table import RULES
from kernelwright.search.moves import FACTS

MOVES = tuple(FACTS.values())
NAMED = sorted({row.signal for row in ROWS})
strengths = st.floats(min_value=0, max_value=1.25)


def signal(name: str, strength: float = 1.0) -> Signal:
    return Signal(id=name, strength=strength, source="counters", evidence="so it is")


signals = st.lists(st.builds(signal, st.sampled_from(NAMED), strengths), max_size=8)
levels = st.lists(
    st.builds(
        Level,
        where=st.sampled_from(["compute", "tensor", "L1", "L2", "DRAM"]),
        share=st.floats(min_value=0, max_value=1.1),
        confidence=st.sampled_from(["normal", "low"]),
    ),
    max_size=4,
    unique_by=lambda level: level.where,
)


def by_move(found: tuple[MovePrior, ...]) -> dict[str, float]:
    return {each.move: each.probability for each in found}


def asked(name: str) -> set[str]:
    return {row.move for row in ROWS if row.signal == name and row.weight > 1}


def named(name: str) -> set[str]:
    return {row.move for row in ROWS if row.signal == name}


# --- laws


@given(signals, levels)
def test_probabilities_are_positive_and_add_up_to_one(
    given_: list[Signal], roofs: list[Level]
) -> None:
    found = weigh(MOVES, given_, roofs)
    assert math.isclose(sum(each.probability for each in found), 1)
    assert all(each.probability > 0 for each in found)
    assert [each.probability for each in found] == sorted(
        (each.probability for each in found), reverse=True
    )


def test_without_a_signal_the_base_weights_decide() -> None:
    found = weigh(MOVES, ())
    total = sum(move.base for move in MOVES)
    assert by_move(found) == pytest.approx({m.id: m.base / total for m in MOVES})
    assert all(each.factor == 1 and not each.reasons for each in found)


@given(signals, st.sampled_from(NAMED), strengths, strengths, levels)
def test_a_stronger_signal_never_lowers_what_it_asks_for(
    others: list[Signal], name: str, one: float, other: float, roofs: list[Level]
) -> None:
    rest = [each for each in others if each.id != name]
    weak, strong = sorted((one, other))
    before = by_move(weigh(MOVES, [*rest, signal(name, weak)], roofs))
    after = by_move(weigh(MOVES, [*rest, signal(name, strong)], roofs))
    wanted, untouched = asked(name), set(FACTS) - named(name)
    for move in wanted:
        assert all(
            after[move] / after[u] >= before[move] / before[u] * (1 - 1e-9) for u in untouched
        )
    assert sum(after[m] for m in wanted) >= sum(before[m] for m in wanted) * (1 - 1e-9)


@given(signals, st.sampled_from(NAMED), strengths, levels)
def test_another_signal_leaves_moves_that_it_does_not_name_in_their_order(
    others: list[Signal], name: str, strength: float, roofs: list[Level]
) -> None:
    rest = [each for each in others if each.id != name]
    before = by_move(weigh(MOVES, rest, roofs))
    after = by_move(weigh(MOVES, [*rest, signal(name, strength)], roofs))
    for one, other in combinations(sorted(set(FACTS) - named(name)), 2):
        assert math.isclose(after[one] / after[other], before[one] / before[other])


@given(
    st.lists(st.sampled_from(NAMED), unique=True, max_size=8).map(lambda n: list(map(signal, n))),
    levels,
)
def test_the_order_of_signals_does_not_matter(given_: list[Signal], roofs: list[Level]) -> None:
    assert weigh(MOVES, given_, roofs) == weigh(MOVES, list(reversed(given_)), roofs)


@given(signals, levels)
def test_moves_weighed_alone_keep_their_odds(given_: list[Signal], roofs: list[Level]) -> None:
    everything, few = by_move(weigh(MOVES, given_, roofs)), MOVES[:4]
    some = by_move(weigh(few, given_, roofs))
    for one, other in combinations([move.id for move in few], 2):
        assert math.isclose(some[one] / some[other], everything[one] / everything[other])


@given(signals)
def test_a_saturated_roof_pushes_down_what_does_not_relieve_it(given_: list[Signal]) -> None:
    before = {each.move: each.factor for each in weigh(MOVES, given_)}
    after = {
        each.move: each.factor for each in weigh(MOVES, given_, [Level(where="DRAM", share=0.93)])
    }
    for move in MOVES:
        expected = 1.0 if "DRAM" in move.relieves else SATURATED_WEIGHT
        assert math.isclose(after[move.id], before[move.id] * expected)


def test_a_roof_below_ninety_percent_pushes_nothing_down() -> None:
    assert weigh(MOVES, (), [Level(where="DRAM", share=0.89)]) == weigh(MOVES, ())


def test_a_roof_known_from_the_time_alone_pushes_less() -> None:
    guess = [Level(where="DRAM", share=0.95, confidence="low")]
    sure = [Level(where="DRAM", share=0.95)]
    factor = {each.move: each.factor for each in weigh(MOVES, (), guess)}["increase_ilp"]
    least = {each.move: each.factor for each in weigh(MOVES, (), sure)}["increase_ilp"]
    assert least < factor < 1
    assert math.isclose(factor, SATURATED_WEIGHT**LOW_CONFIDENCE)


def test_what_is_said_twice_counts_once_as_its_strongest() -> None:
    twice = [signal("register_spill", 0.3), signal("register_spill", 0.8)]
    assert merged(twice) == (twice[1],)
    assert weigh(MOVES, twice) == weigh(MOVES, [twice[1]])


def test_every_factor_says_what_spoke_for_it_and_where_its_weight_is_from() -> None:
    found = weigh(MOVES, [signal("poor_coalescing")], [Level(where="DRAM", share=0.95)])
    told = next(each for each in found if each.move == "coalesce_global_accesses").reasons
    assert [each.describe() for each in told] == ["x8 poor_coalescing"]
    assert told[0].evidence == "so it is" and told[0].basis == "rule of thumb"
    pushed = next(each for each in found if each.move == "increase_ilp").reasons
    assert pushed[0].signal == "saturated" and pushed[0].evidence == "DRAM at 95 %"


# --- the table


def test_every_row_names_a_move_of_the_catalogue_once_and_has_a_weight_and_a_reason() -> None:
    assert {row.move for row in ROWS} <= set(FACTS)
    assert len({(row.signal, row.move) for row in ROWS}) == len(ROWS)
    assert all(row.weight > 0 and row.weight != 1 and row.why and row.basis for row in ROWS)


def test_every_rule_has_rows_or_a_reason_to_have_none() -> None:
    assert {rule.id for rule in RULES} <= set(NAMED) | set(SILENT)
    assert not set(SILENT) - {rule.id for rule in RULES}


def test_every_move_that_nobody_can_generate_is_asked_for_by_some_signal() -> None:
    generated = {"tune_constants", "compiler_flags"}
    assert {row.move for row in ROWS if row.weight > 1} >= set(FACTS) - generated


@pytest.mark.parametrize("rule", sorted(set(PLANTED) - set(SILENT)))
def test_a_planted_fault_raises_a_move_that_its_rule_asks_for(rule: str) -> None:
    planted = PLANTED[rule]
    found = findings(profile(planted), planted.facts)
    factors = {
        each.move: each.factor
        for each in weigh(MOVES, of_findings(found.ranked, found.bottleneck), found.levels)
    }
    assert asked(rule), f"{rule}: no rows in analysis/prior/table.py, and no reason in SILENT"
    assert max(factors[move] for move in asked(rule)) > 1


def test_bank_conflicts_lead_to_another_layout_of_shared_memory() -> None:
    planted = PLANTED["smem_bank_conflicts"]
    found = findings(profile(planted), planted.facts)
    told = weigh(
        [move for move in MOVES if move.id not in ("tune_parameters", "tune_constants")],
        of_findings(found.ranked, found.bottleneck),
        found.levels,
    )
    assert told[0].move == "swizzle_shared_memory"


# --- signals


def test_a_finding_is_as_strong_as_its_severity_share_and_confidence() -> None:
    found = findings(profile(PLANTED["register_spill"])).ranked
    spill = next(each for each in found if each.rule == "register_spill")

    def strength(**change: object) -> float:
        changed = spill.model_copy(update=change)
        return of_findings([changed], None)[0].strength

    assert strength(severity="high") == 1
    assert strength(severity="low") == pytest.approx(1 / 3)
    assert strength(severity="high", share=0.25) == 0.25
    assert strength(severity="high", confidence="low") == LOW_CONFIDENCE
    assert strength(severity="high", agreed=True) > 1


def test_findings_of_the_same_rule_at_several_kernels_add_up() -> None:
    found = findings(profile(PLANTED["register_spill"])).ranked
    spill = next(each for each in found if each.rule == "register_spill")
    parts = [
        spill.model_copy(update={"kernel": k, "share": s}) for k, s in (("a", 0.5), ("b", 0.3))
    ]
    (whole,) = of_findings(parts, None)
    assert whole.strength == pytest.approx(of_findings([spill], None)[0].strength * 0.8)


def test_what_nobody_counted_is_half_as_strong() -> None:
    found = findings(profile(PLANTED["register_spill"])).ranked
    static = of_findings([each.model_copy(update={"static": True}) for each in found], None)
    counted = of_findings(found, None)
    assert [s.strength for s in static] == [pytest.approx(STATIC * s.strength) for s in counted]
    assert {s.source for s in static} == {"build"}


def test_an_unknown_bottleneck_is_no_signal() -> None:
    assert of_findings((), Bottleneck(kind="unknown", text="?", confidence="low")) == ()
    assert of_findings((), findings(run(launch({}))).bottleneck) == ()


def test_a_bottleneck_of_the_time_alone_is_half_a_signal() -> None:
    (told,) = of_findings((), Bottleneck(kind="memory_bound", text="so", confidence="low"))
    assert (told.id, told.source, told.strength) == ("memory_bound", "time", LOW_CONFIDENCE)


def test_only_triton_does_some_of_it_by_itself() -> None:
    assert [each.id for each in of_language("triton")] == ["triton"]
    assert of_language("cuda") == of_language("cpp") == ()


# --- structure


def told_by(name: str) -> dict[str, Signal]:
    module = read_ptx(text(name))
    dag = region_dag_of(module, module.entries[0].name)
    return {each.id: each for each in of_structure(dag)}


def told_of(body: str) -> dict[str, Signal]:
    module = read_ptx(kernel_text(body, ""))
    return {each.id: each for each in of_structure(region_dag_of(module))}


@pytest.mark.parametrize("name", NAMES)
def test_structure_speaks_of_moves_in_the_table_and_for_half_at_most(name: str) -> None:
    for each in told_by(name).values():
        assert each.id in NAMED and each.source == "structure" and each.evidence
        assert 0 < each.strength <= STATIC + 1e-9


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("transpose", "narrow_global_accesses"),
        ("sgemm", "unpipelined_loads"),
        ("triton_matmul_flat", "unpipelined_loads"),
        ("histogram", "frequent_atomics"),
        ("triton_layer_norm", "several_passes"),
        ("triton_softmax", "frequent_special_functions"),
        ("collatz", "data_dependent_branches"),
        ("sgemm", "several_barriers"),
        ("triton_matmul_flat", "guarded_accesses"),
    ],
)
def test_what_real_kernels_do_is_told_from_their_ptx(name: str, expected: str) -> None:
    assert expected in told_by(name)


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("copy4", "narrow_global_accesses"),
        ("cp_async_pipeline", "unpipelined_loads"),
        ("triton_matmul", "unpipelined_loads"),
        ("triton_matmul_tma", "unpipelined_loads"),
        ("warp_sum", "frequent_atomics"),
        ("triton_softmax", "several_passes"),
        ("triton_attention", "frequent_special_functions"),
        ("triton_matmul", "data_dependent_branches"),
        ("block_sum", "several_barriers"),
    ],
)
def test_what_a_kernel_does_not_do_is_no_signal(name: str, absent: str) -> None:
    assert absent not in told_by(name)


def whole(names: list[str], matrix_work: bool | None = None) -> dict[str, Signal]:
    modules = [read_ptx(text(name)) for name in names]
    dags = [region_dag_of(each, each.entries[0].name) for each in modules]
    return {each.id: each for each in of_structures(dags, matrix_work)}


@pytest.mark.parametrize(
    ("name", "absent"),
    [
        ("copy4", {"no_atomics", "no_special_functions", "no_shared_memory", "wide_accesses"}),
        ("triton_matmul", {"no_atomics", "no_special_functions", "tensor_used", "pipelined"}),
        ("histogram", {"no_special_functions"}),
        ("triton_softmax", {"no_atomics"}),
    ],
)
def test_what_a_kernel_cannot_gain_from_is_certain(name: str, absent: set[str]) -> None:
    certain = {each.id for each in whole([name]).values() if each.strength == 1}
    assert certain >= absent
    assert not certain & {"no_matrix_work"}
    assert certain <= set(NAMED)


def test_what_one_kernel_of_a_run_does_is_not_absent_from_the_run() -> None:
    assert "no_atomics" in whole(["copy4"])
    assert "no_atomics" not in whole(["copy4", "histogram"])
    assert whole([]) == {}


def test_what_called_functions_do_is_not_known_to_be_absent() -> None:
    assert "no_atomics" not in whole(["calls"])


def test_a_contract_that_keeps_tensor_cores_out_says_so() -> None:
    assert "no_matrix_work" in whole(["sgemm"], matrix_work=False)
    assert not {"no_matrix_work", "tensor_used"} & set(whole(["sgemm"], matrix_work=True))


def test_of_several_kernels_each_says_which_one_it_is() -> None:
    told = whole(["histogram", "sgemm"])
    assert told["frequent_atomics"].evidence.startswith("histogram, region")


def test_narrow_accesses_count_by_their_bytes() -> None:
    mixed = told_of("ld.global.f32 %f1, [%rd1];\nld.global.v4.f32 {%f2,%f3,%f4,%f5}, [%rd2];")
    assert mixed["narrow_global_accesses"].strength == pytest.approx(STATIC * 4 / 20)
    assert "1 of 2 global accesses of a thread move 4 B" in mixed["narrow_global_accesses"].evidence


def test_a_kernel_that_does_nothing_says_nothing() -> None:
    assert told_of("ret;") == {}


def test_a_row_of_weight_above_one_asks_and_below_one_speaks_against() -> None:
    rows = (Row("s", "increase_ilp", 4, "w", "b"), Row("s", "fuse_launches", 0.5, "w", "b"))
    factors = {e.move: e.factor for e in weigh(MOVES, [signal("s")], rows=rows)}
    assert factors["increase_ilp"] == 4 and factors["fuse_launches"] == 0.5
