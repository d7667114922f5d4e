"""What each move proposes, before and after, and how free text is matched to the catalogue."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from any_text import CHARACTERS
from hypothesis import given
from hypothesis import strategies as st
from import_graph import ROOT
from small_states import SOURCE, proposed, state

from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.search.moves import (
    ALIASES,
    CANONICAL,
    METHODS,
    MOVES,
    NotApplicable,
    broken_constraints,
    canonical_method,
)
from kernelwright.search.moves.every_language.compiler_flags import MOVE as COMPILER_FLAGS
from kernelwright.search.moves.every_language.cuda_flags import MOVE as CUDA_FLAGS
from kernelwright.search.moves.every_language.tune_constants import MOVE as TUNE_CONSTANTS
from kernelwright.search.moves.every_language.tune_parameters import MOVE as TUNE_PARAMETERS
from kernelwright.search.moves.every_language.tune_parameters import nearest
from kernelwright.search.moves.shared.knobs_cpp import cpp_knobs
from kernelwright.search.moves.shared.knobs_python import python_knobs

USES = "int f() { return A + B + C + D * (X + Y); }"
"""of the parameters that tests turn"""


def values(candidates: tuple[Candidate, ...]) -> list[dict[str, int]]:
    return [c.parameters or {} for c in candidates]


def test_one_value_changes_at_a_time_the_nearest_first() -> None:
    found = proposed(TUNE_PARAMETERS.propose(state({"TILE": (8, 16, 32, 64)}, now={"TILE": 16})))
    assert values(found) == [{"TILE": 32}, {"TILE": 8}, {"TILE": 64}]
    assert found[0].detail == "TILE=16 -> TILE=32"
    assert found[0].prior > found[1].prior > found[2].prior
    assert all(c.predicted_gain is None for c in found)


def test_values_count_as_near_by_their_order_not_by_their_place_in_the_list() -> None:
    assert nearest((64, 8, 32, 16), 16) == [32, 8, 64]
    assert nearest((1, 2, 8), 4) == [8, 2, 1]


def test_every_knob_has_its_nearest_values_tried_before_one_knob_has_all() -> None:
    knobs = {name: (1, 2, 4, 8, 16) for name in "ABCD"}
    found = proposed(
        TUNE_PARAMETERS.propose(state(knobs, source=USES, now=dict.fromkeys(knobs, 4)))
    )
    assert len(found) == 16
    for first in (4, 8, 12):
        assert {next(iter(v)) for v in values(found)[first - 4 : first]} == set(knobs)


def test_a_value_against_a_constraint_is_left_out() -> None:
    start = state({"A": (1, 2, 4), "B": (1,)}, ("A * B <= 2",), USES, now={"A": 1})
    found = proposed(TUNE_PARAMETERS.propose(start))
    assert values(found) == [{"A": 2}]


def test_a_value_that_needs_another_to_move_is_proposed_with_it() -> None:
    knobs = {"X": (8, 16, 32), "Y": (8, 16, 32)}
    start = state(knobs, ("X * Y == 256",), USES, now={"X": 16, "Y": 16})
    assert values(proposed(TUNE_PARAMETERS.propose(start))) == [
        {"X": 32, "Y": 8},
        {"X": 8, "Y": 32},
    ]


def test_pairs_weigh_less_than_single_changes() -> None:
    start = state({"X": (16, 32), "Y": (8, 16)}, ("X * Y <= 256",), USES, now={"X": 16, "Y": 16})
    found = proposed(TUNE_PARAMETERS.propose(start))
    assert values(found) == [{"Y": 8}, {"X": 32, "Y": 8}]
    assert found[0].prior > found[1].prior


def test_a_constraint_without_a_value_is_not_met() -> None:
    start = state({"A": (1, 0), "B": (4,)}, ("B % A == 0",), USES)
    assert broken_constraints(start.spec, {"A": 0, "B": 4}) == ("B % A == 0",)
    assert isinstance(TUNE_PARAMETERS.propose(start), NotApplicable)


@given(
    st.dictionaries(
        st.sampled_from("ABC"), st.sets(st.integers(1, 64), min_size=1, max_size=5), min_size=1
    ),
    st.integers(1, 300),
)
def test_every_proposal_meets_the_constraints_and_changes_what_it_names(
    knobs: dict[str, set[int]], limit: int
) -> None:
    listed = {n: tuple(sorted(v)) for n, v in knobs.items()}
    start = state(listed, (f"{'*'.join(knobs)} <= {limit}",), USES)
    result = TUNE_PARAMETERS.propose(start)
    for change in () if isinstance(result, NotApplicable) else values(result):
        assert not broken_constraints(start.spec, start.assignment | change)
        assert all(start.assignment[n] != v for n, v in change.items())


def test_parameters_that_nothing_has_a_use_for_are_left_alone() -> None:
    knobs = {"TILE": (16, 32), "LEFT_OVER": (1, 2)}
    assert values(proposed(TUNE_PARAMETERS.propose(state(knobs, now={"TILE": 16})))) == [
        {"TILE": 32}
    ]
    found = TUNE_PARAMETERS.propose(state({"LEFT_OVER": (1, 2)}))
    assert isinstance(found, NotApplicable) and "has a use for" in found.reason


@pytest.mark.parametrize(("loop", "stages"), [("for i in range(4): pass", True), ("pass", False)])
def test_stages_are_a_matter_of_loops(loop: str, stages: bool) -> None:
    source = f"@triton.jit\ndef f(x, BLOCK: tl.constexpr):\n    {loop}\n"
    knobs = {"num_stages": (2, 3), "num_warps": (4, 8), "BLOCK": (64, 128)}
    found = values(proposed(TUNE_PARAMETERS.propose(state(knobs, (), source, "triton"))))
    assert {name for change in found for name in change} == {
        "num_warps",
        "BLOCK",
        *(["num_stages"] if stages else []),
    }


def test_what_a_source_works_out_at_each_launch_is_not_set_for_all_of_them() -> None:
    chosen = '@triton.heuristics({"num_warps": lambda args: args["n"] // 512})\n'
    source = f"{chosen}@triton.jit\ndef f(x, n, BLOCK: tl.constexpr):\n    pass\n"
    knobs = {"num_warps": (4, 8), "BLOCK": (64, 128)}
    open_ = state(knobs, (), source, "triton", now={"BLOCK": 64})
    assert values(proposed(TUNE_PARAMETERS.propose(open_))) == [{"BLOCK": 128}]
    set_ = state(knobs, (), source, "triton", now={"BLOCK": 64, "num_warps": 4})
    assert {"num_warps": 8} in values(proposed(TUNE_PARAMETERS.propose(set_)))


def test_found_blocks_are_turned_while_the_launch_has_them_as_numbers() -> None:
    source = "__global__ void scale(float* out) { out[threadIdx.x] = 1; }"
    launch = {"grid": [1], "block": [256]}
    made = state(
        {"block_x": (128, 256)}, (), source, "cuda", kernel={"launch": launch}, now={"block_x": 256}
    )
    found = frozenset({"block_x"})
    assert values(proposed(TUNE_PARAMETERS.propose(replace(made, found=found))))
    step = {"launch": "scale", "grid": [1], "block": ["THREADS"]}
    plan = {"steps": [step], "defines": {"THREADS": 64}}
    gone = TUNE_PARAMETERS.propose(replace(made, found=found, plan=plan))
    assert isinstance(gone, NotApplicable)


def test_no_parameters_is_a_reason() -> None:
    assert TUNE_PARAMETERS.propose(state()) == NotApplicable("the spec declares no parameters")


def test_constants_that_read_like_knobs_are_found_and_others_are_not() -> None:
    found = {c.name: c.value for c in cpp_knobs(SOURCE.encode())}
    # KERNEL_H: a guard. SCALE: no integer. BATCH: interface only. unused_depth: never used.
    assert found == {"TILE": 32, "kUnroll": 4, "PAD": 16, "STAGES": 3}


def test_a_constant_is_rewritten_where_it_stands_and_nowhere_else() -> None:
    found = {c.detail: c for c in proposed(TUNE_CONSTANTS.propose(state()))}
    before, after = "#define TILE 32  // rows and columns", "#define TILE 64  // rows and columns"
    assert found["TILE: 32 -> 64"].source == SOURCE.replace(before, after)
    assert found["kUnroll: 4 -> 1"].source == SOURCE.replace("kUnroll = 4", "kUnroll = 1")
    assert found["PAD: 16 -> 8"].source == SOURCE.replace("0x10u", "8u")
    assert "STAGES: 3 -> 6" in found
    assert "STAGES: 3 -> 1" not in found
    assert found["TILE: 32 -> 64"].prior > found["TILE: 32 -> 128"].prior


@pytest.mark.parametrize(
    "source",
    [
        "#define TILE 4\n#undef TILE\n#define TILE 8\nint f() { return TILE; }",
        "constexpr int TILE = 0; int f() { return TILE; }",
        "int TILE = 4; int f() { return TILE; }",
        "#define TILE (4)\nint f() { return TILE; }",
        "#define TILE(x) 4\nint f() { return TILE(1); }",
        "constexpr int N = 4; int f() { return N; }",
        "constexpr double STEP = 4; double f() { return STEP; }",
        "template <int TILE> int f() { constexpr int TILE = 4; return TILE; }",
    ],
)
def test_what_is_no_constant_with_one_meaning_is_left_alone(source: str) -> None:
    assert cpp_knobs(source.encode()) == ()


@pytest.mark.parametrize(
    "source",
    [
        "#define TILE 4\n#define AREA (TILE * TILE)\nint f() { return AREA; }",
        "constexpr std::size_t TILE{4}; int f() { return TILE; }",
        "int f() { const int blockSize = 4; return blockSize; }",
        "template <int N> int g(); constexpr int BM = 4; int f() { return g<BM>(); }",
        "constexpr int ROWS_A = 4, ROWS_B = 4; int f(int a) { int t[ROWS_A]; return t[a]; }",
        "#define TILE 4\n#pragma omp tile sizes(TILE)\nint a;",
    ],
)
def test_a_constant_used_in_code_or_in_a_macro_is_a_knob(source: str) -> None:
    assert [knob.value for knob in cpp_knobs(source.encode())] == [4]


def test_declared_parameters_and_defines_are_no_constants_of_the_source() -> None:
    start = state({"TILE": (16, 32)}, kernel={"defines": {"PAD": 1}})
    names = {c.detail.split(":")[0] for c in proposed(TUNE_CONSTANTS.propose(start))}
    assert names == {"kUnroll", "STAGES"}


def test_constants_of_cuda_sources_are_found_too() -> None:
    source = (
        "#define BLOCK 128\n"
        "__global__ void scale(float* a) {}\n"
        "void go() { scale<<<1, BLOCK>>>(0); }"
    )
    found = proposed(TUNE_CONSTANTS.propose(state(source=source, kernel_type="cuda")))
    assert found[0].source == source.replace("128", "256")


def test_a_move_says_which_languages_it_is_for() -> None:
    triton = state(kernel_type="triton")
    assert COMPILER_FLAGS.propose(triton) == NotApplicable("for cpp, not triton")
    assert CUDA_FLAGS.propose(triton) == NotApplicable("for cuda, not triton")


def test_every_file_of_a_move_is_listed_and_the_move_is_called_like_its_file() -> None:
    sources = (ROOT / "search" / "moves").rglob("*.py")
    written = {each.stem for each in sources if "\nMOVE = Move(" in each.read_text("utf-8")}
    assert len(written) > 50
    listed = {move.id for move in MOVES}
    assert written <= listed, "a file whose MOVE no MOVES names, or whose id is not its name"


def test_the_catalogue_holds_every_move_and_aliases_lead_into_it() -> None:
    assert len({move.id for move in MOVES}) == len(MOVES)
    assert len(CANONICAL) == len(METHODS)
    for move in MOVES:
        assert move.method in CANONICAL, f"{move.id}: no method {move.method} in moves/methods.py"
        assert set(move.languages) <= set(CANONICAL[move.method].languages), move.id
    assert set(ALIASES.values()) <= set(CANONICAL)
    assert not set(ALIASES) & set(CANONICAL)


def test_the_documents_say_which_canonical_method_a_rule_writes_in_which_language() -> None:
    page = (Path(__file__).parents[3] / "docs" / "search.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1:-1] for line in page.split("\n") if line.startswith("| `")]
    told = {cells[0].strip(" `"): cells[1:] for cells in rows if len(cells) == 4}
    named = {name: cells for name, cells in told.items() if name in CANONICAL}
    assert len(named) == 9
    for name, cells in named.items():
        for language, cell in zip(("triton", "cuda", "cpp"), cells, strict=True):
            written = [m.id for m in MOVES if m.method == name and language in m.languages]
            by_hand = "by hand" if language in CANONICAL[name].languages else "-"
            assert cell.strip() == (", ".join(f"`{w}`" for w in written) or by_hand), (
                name,
                language,
            )


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("Vectorize Global Loads", "vectorize_global_loads"),
        ("vectorise-global-loads", "vectorize_global_loads"),
        ("  change block size ", "change_block_sizes"),
        ("double buffering", "enable_async_pipeline"),
        ("Online softmax", "softmax_math_fusion"),
        ("tune_parameters", "tune_parameters"),
        ("hoist the bounds check", "hoist_the_bounds_check"),
        ("Loop interchange (ikj)", "loop_interchange_ikj"),
    ],
)
def test_free_text_is_matched_to_the_catalogue_when_it_clearly_names_an_entry(
    text: str, method: str
) -> None:
    assert canonical_method(text) == method


@given(st.text(CHARACTERS, min_size=1, max_size=200))
def test_a_canonical_method_is_a_short_slug_and_stays_as_it_is(text: str) -> None:
    slug = canonical_method(text)
    assert 0 < len(slug) <= 60
    assert canonical_method(slug) == slug


TRITON = """\
import triton
import triton.language as tl

BLOCK_ROWS = 16
TILE: tl.constexpr = tl.constexpr(64)
seed = 7
STEP = 4
STEP = 8

@triton.jit
def kernel(x, n, BLOCK_SIZE: tl.constexpr, UNROLL: tl.constexpr = 2, width=3):
    pass

def run(x):
    kernel[(4,)](x, x.numel(), BLOCK_SIZE=1024, num_warps=4)
"""


def test_knobs_of_triton_are_module_constants_constexpr_defaults_and_launch_keywords() -> None:
    found = {c.name: c.value for c in python_knobs(TRITON.encode())}
    assert found == {"BLOCK_ROWS": 16, "TILE": 64, "UNROLL": 2, "BLOCK_SIZE": 1024}


def test_a_rewritten_triton_constant_changes_its_literal_and_nothing_else() -> None:
    proposals = TUNE_CONSTANTS.propose(state(source=TRITON, kernel_type="triton"))
    assert not isinstance(proposals, NotApplicable)
    sources = {c.detail: c.source for c in proposals}
    assert sources["BLOCK_SIZE: 1024 -> 2048"] == TRITON.replace("SIZE=1024", "SIZE=2048")
    assert sources["TILE: 64 -> 32"] == TRITON.replace("constexpr(64)", "constexpr(32)")


def test_python_that_does_not_parse_has_no_knobs() -> None:
    assert python_knobs(b"def run(:\n") == ()


def test_cuda_flags_are_proposed_for_cuda_and_fast_math_only_where_the_contract_says_so() -> None:
    def flags(**spec: Any) -> set[str]:
        proposals = CUDA_FLAGS.propose(state(kernel_type="cuda", **spec))
        assert not isinstance(proposals, NotApplicable)
        return {f for c in proposals for f in (c.options or BuildOptions()).flags or ()}

    assert "--maxrregcount=64" in flags()
    assert "--use_fast_math" not in flags()
    assert isinstance(CUDA_FLAGS.propose(state()), NotApplicable)
