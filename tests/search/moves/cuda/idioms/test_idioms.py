"""What the CUDA idioms recognise, what they write, and what they refuse and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from idiom_sources import SOURCES, TENSOR
from tiers import cases

from kernelwright.runners.building.builder import Builder
from kernelwright.runners.c_source.parsing import parse_cpp
from kernelwright.runners.errors import ToolchainMissing
from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import BuildOptions, Candidate, Variant
from kernelwright.runners.screens.instructions.machine_code import screen_artifact
from kernelwright.runners.specs.devices import device_for
from kernelwright.runners.specs.normalise import source_key
from kernelwright.runners.toolchains import BuildRequest, Shape, toolchain_for
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.cuda.idioms import MOVES
from kernelwright.search.moves.cuda.idioms.parts.writing import TEMPLATES

BY_ID = {move.id: move for move in MOVES}
EVERY = {**SOURCES, **TENSOR}
FEW = 64
"""bytes that may be spilled around a loop: an epilogue that reads arrays wants registers too"""
CASES = [(what, move) for what, source in EVERY.items() for move in source.moves]

ROOT = Path(__file__).parents[5]


def proposed(what: str, move: str) -> tuple[Candidate, ...]:
    found = BY_ID[move].propose(EVERY[what].state())
    assert not isinstance(found, NotApplicable), found.reason
    return found


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Builder]:
    try:
        toolchain_for("cuda")
    except ToolchainMissing as missing:
        pytest.skip(str(missing))
    folder = tmp_path_factory.mktemp("idioms")
    made = Builder(folder / "modules", folder / "scratch")
    yield made
    made.close()


@cases(
    ("what", "move"),
    CASES,
    kinds=lambda _, move: [move],
    why="further spellings of an idiom",
)
def test_what_is_written_builds_for_every_workload_and_hardly_spills(
    builder: Builder, what: str, move: str
) -> None:
    kernel = EVERY[what].kernel()
    shapes = tuple(Shape(label=w.name, symbols=w.symbols) for w in kernel.spec.workloads)
    found = proposed(what, move)
    for candidate in dict.fromkeys((found[0].source, found[-1].source)):
        chosen = next(c for c in found if c.source == candidate)
        assert chosen.source is not None
        variant = Variant(
            kernel_id=kernel.kernel_id,
            source=chosen.source,
            source_key=source_key(chosen.source, "cuda"),
            plan=chosen.plan,
            options=BuildOptions(),
        )
        device = device_for(kernel.spec.device_profile, ())
        outcome = builder.build(
            BuildRequest(kernel=kernel, variant=variant, shapes=shapes, device=device)
        )
        assert outcome.artifact is not None, outcome.message
        assert outcome.facts is not None
        assert all((k.spill_bytes or 0) <= FEW for k in outcome.facts.kernels)
        screened = screen_artifact(outcome.artifact, builder.module_path, kernel.spec.io)
        assert screened.outcome != "failed", screened.message


@pytest.mark.parametrize(("what", "move"), CASES)
def test_what_stands_around_the_kernel_stays_and_the_result_parses(what: str, move: str) -> None:
    source = EVERY[what]
    framed = f"// before\n{source.text}// after\n__device__ int other(int a) {{ return a; }}\n"
    found = BY_ID[move].propose(source.state(framed))
    assert not isinstance(found, NotApplicable), found.reason
    for candidate in found:
        assert candidate.source is not None and candidate.method == BY_ID[move].method
        assert not parse_cpp(candidate.source.encode()).root_node.has_error
        assert candidate.source.startswith("// before\n")
        assert candidate.source.endswith(framed[framed.index("// after") :])
        assert candidate.predicted_gain is None and 0 < candidate.prior < 1


@pytest.mark.parametrize(("what", "move"), CASES)
def test_nothing_is_left_to_do_where_an_idiom_was_written(what: str, move: str) -> None:
    first = proposed(what, move)[0]
    again = BY_ID[move].propose(EVERY[what].state(first.source, first.plan))
    assert isinstance(again, NotApplicable) and again.reason


@pytest.mark.parametrize("what", EVERY)
def test_no_other_idiom_takes_the_kernel_for_its_own(what: str) -> None:
    source = EVERY[what]
    taken = {m.id for m in MOVES if not isinstance(m.propose(source.state()), NotApplicable)}
    assert taken == set(source.moves)


def test_a_row_a_thread_becomes_a_row_a_team() -> None:
    what = "in place, with a weight a column"
    found = proposed(what, "row_per_team")
    block = next(c for c in found if c.detail.startswith("a block"))
    assert block.source is not None
    kernel = block.source[block.source.index('extern "C"') :]
    assert (
        kernel
        == """\
extern "C" __global__ void f(float* x, const float* w, int rows, int cols) {
    int row = blockIdx.x;
    if (row >= rows) return;
    float s = 0.0f;
    for (int j = threadIdx.x; j < cols; j += blockDim.x) s += x[row * cols + j] * w[j];
    s = block_sum(s);
    for (int j = threadIdx.x; j < cols; j += blockDim.x) x[row * cols + j] = x[row * cols + j] + s;
}
"""
    )
    assert block.plan == {"steps": [{"launch": "f", "grid": ["rows"], "block": [256]}]}


def test_the_epilogue_of_a_product_is_carried_over() -> None:
    found = proposed("a product with alpha, beta and a bias", "sgemm_tiles")
    source = found[0].source
    assert source is not None
    assert (
        """\
    auto epilogue = [&](float total, int r, int q) -> float {
        total = alpha * total + bias[q];
        return fmaxf(total, 0.0f) + 0.5f * c[r * n + q];
    };"""
        in source
    )


def test_a_deterministic_contract_gets_a_second_launch_in_place_of_atomics() -> None:
    what = "a sum by a tree that halves"
    source = SOURCES[what]
    exact = replace(source, io={"deterministic": True})
    found = BY_ID["sum_blocks"].propose(exact.state())
    assert not isinstance(found, NotApplicable)
    (only,) = found
    assert only.source is not None and "atomicAdd" not in only.source
    assert only.plan is not None
    assert [s.get("launch") for s in only.plan["steps"]] == ["f", "f_of_blocks"]


def test_a_sum_that_is_added_to_an_output_is_never_stored_over_it() -> None:
    kept = replace(SOURCES["a sum, an atomic addition an element"], fill=None)
    found = BY_ID["sum_blocks"].propose(kept.state())
    assert not isinstance(found, NotApplicable)
    assert [len(c.plan["steps"]) for c in found if c.plan is not None] == [1]
    found = BY_ID["sum_blocks"].propose(replace(kept, io={"deterministic": True}).state())
    assert isinstance(found, NotApplicable) and "added to what" in found.reason


ROWS = "in place, with a weight a column"
PRODUCT = "a product by one-dimensional blocks, factors the other way round"
SCALED = "a product with alpha, beta and a bias"
TREE = "a sum by a tree that halves"
ATOMIC = "a sum, an atomic addition an element"
COUNTS = "a histogram in steps of the grid"
TURNED = "a transpose by one-dimensional blocks"
SCAN = "exclusive running sums"
REFUSED = (
    ("row_per_team", ROWS, "s = 0.0f", "s = 1.0f", "does not begin at 0"),
    ("row_per_team", ROWS, "x[row * cols + j] + s", "x[row * cols] + s", "another thread"),
    ("row_per_team", ROWS, "* w[j];", "* s;", "no sum, extreme or place"),
    ("row_per_team", ROWS, "j < cols; ++j) s", "j < cols; j += 2) s", "one column to the next"),
    ("row_per_team", ROWS, "* w[j]", "* w[j * j]", "not affine"),
    ("row_per_team", ROWS, "    float s", "    __syncthreads();\n    float s", "__syncthreads"),
    ("row_per_team", ROWS, "if (row >= rows) return;", "", "not compared"),
    ("sgemm_tiles", PRODUCT, "acc = 0.f", "acc = 1.f", "does not begin at 0"),
    ("sgemm_tiles", PRODUCT, "p < K", "p < i", "no matrix product"),
    ("sgemm_tiles", PRODUCT, "b[p * N + j]", "b[p * N + i]", "those of a product"),
    ("sgemm_tiles", PRODUCT, "c[idx] = acc;", "c[idx] = acc * threadIdx.x;", "threadIdx.x"),
    ("sgemm_tiles", PRODUCT, "c[idx] = acc;", "c[idx] = acc; c[0] = 1;", "stored once"),
    ("sgemm_tiles", SCALED, "r < m", "r < m - 1", "may leave parts"),
    ("sgemm_ring", PRODUCT, "p < K", "p < i", "no matrix product"),
    ("sum_blocks", TREE, "s[threadIdx.x + half]", "s[threadIdx.x]", "adds a value twice"),
    ("sum_blocks", TREE, "threadIdx.x < half)", "threadIdx.x < half / 2)", "every thread's value"),
    ("sum_blocks", ATOMIC, "i < n", "i < n / 2", "number of elements"),
    ("sum_blocks", ATOMIC, "x[i] * x[i]", "x[i] * x[0]", "one element"),
    ("histogram_shared", COUNTS, "i < n;", "i < n - 1;", "counted once"),
    ("histogram_shared", COUNTS, "values[i]]", "values[i] + 1]", "no element of an input"),
    ("transpose_tile", TURNED, "y[c * rows + r]", "y[r * cols + c]", "mirrored"),
    ("row_scan", SCAN, "y[row * cols + j] = sum", "y[row * cols + j] = sum + 1", "the sum so far"),
)


@pytest.mark.parametrize(("move", "what", "before", "after", "said"), REFUSED)
def test_what_is_not_quite_the_idiom_is_refused_with_its_reason(
    move: str, what: str, before: str, after: str, said: str
) -> None:
    source = SOURCES[what]
    assert before in source.text
    found = BY_ID[move].propose(source.state(source.text.replace(before, after)))
    assert isinstance(found, NotApplicable)
    assert said in found.reason


def test_several_launches_are_left_alone() -> None:
    source = SOURCES[TURNED]
    step = {"launch": "f", "grid": [1], "block": [256]}
    found = BY_ID["transpose_tile"].propose(source.state(plan={"steps": [step, step]}))
    assert found == NotApplicable("the plan has 2 launches; an idiom is looked for in a single one")


def test_tensor_cores_of_hopper_are_for_hopper_and_for_halves() -> None:
    found = BY_ID["hgemm_wgmma"].propose(SOURCES[PRODUCT].state())
    assert isinstance(found, NotApplicable) and "fp16 or bf16" in found.reason
    state = TENSOR["fp16"].state()
    other = state.spec.device_profile.model_copy(update={"gpu_name": "A100"})
    spec = state.spec.model_copy(update={"device_profile": other})
    found = BY_ID["hgemm_wgmma"].propose(replace(state, spec=spec))
    assert isinstance(found, NotApplicable) and "Hopper" in found.reason


def test_templates_lie_beside_the_moves() -> None:
    assert {p.suffix for p in TEMPLATES.iterdir()} == {".cu"}


@pytest.mark.parametrize("move", ["row_per_team", "row_in_registers"])
def test_launch_bounds_of_another_block_give_way(move: str) -> None:
    spec = ROOT / "benchmarks" / "kernels" / "softmax" / "cuda.json"
    kernel = load_file(spec, Roots([ROOT]))
    source = kernel.source.replace("void softmax", "void __launch_bounds__(32 * (2), 4) softmax")
    assert source != kernel.source
    by_id = {each.id: each for each in MOVES}
    found = by_id[move].propose(State("cuda", source, {}, BuildOptions(), kernel.spec))
    assert not isinstance(found, NotApplicable)
    for candidate in found:
        assert (candidate.source or "").count("__launch_bounds__") == 1
        assert "32 * (2)" not in (candidate.source or "")


@pytest.mark.parametrize(
    ("spec", "move", "change", "taken"),
    [
        ("gemm", "sgemm_tiles", ("// c", "#define TILE_M 8\n// c"), "TILE_M"),
        ("gemm", "sgemm_tiles", ("int M", "int m_size"), "m_size"),
        ("gemm", "sgemm_ring", ("// c", "#define RING 8\n// c"), "RING"),
        ("scan", "row_scan", ("extern", "#define lane threadIdx.x\nextern"), "lane"),
    ],
)
def test_names_that_the_new_kernel_needs_for_itself_are_refused(
    spec: str, move: str, change: tuple[str, str], taken: str
) -> None:
    kernel = load_file(ROOT / "benchmarks" / "kernels" / spec / "cuda.json", Roots([ROOT]))
    source = kernel.source.replace(*change)
    if change[0] == "int M":
        source = source.replace("row < M", "row < m_size")
    assert source != kernel.source
    by_id = {each.id: each for each in MOVES}
    found = by_id[move].propose(State("cuda", source, {}, BuildOptions(), kernel.spec))
    assert isinstance(found, NotApplicable) and f"another `{taken}`" in found.reason
