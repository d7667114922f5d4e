"""What the idioms write computes the same: on a GPU, real or pretended, through all gates.

What was written is opened as a kernel of its own: its baseline is then checked on both workloads
and on an odd shape, and not timed against the kernel that it was made from.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from device_kernels import GPUS, gpu_of
from idiom_sources import SIZES, SOURCES, TENSOR, Source
from tiers import cases

from kernelwright.runners.loading.files import LoadedKernel, Roots, load_data
from kernelwright.runners.model import BuildOptions, Candidate
from kernelwright.search.moves import NotApplicable, State
from kernelwright.search.moves.cuda.idioms import MOVES
from kernelwright.search.session.workbench import Workbench

ROOT = Path(__file__).parents[5]
BY_ID = {move.id: move for move in MOVES}
RUN = {"row_in_registers", "sum_blocks", "histogram_shared"}
"""idioms that every run of the tests runs on the pretended GPU: rows, and what blocks join"""
BEGINNERS = {
    "benchmarks/kernels/softmax/cuda.json": ("row_per_team", "row_in_registers"),
    "benchmarks/kernels/layernorm/cuda.json": ("row_in_registers",),
    "benchmarks/kernels/argmax/cuda.json": ("row_per_team", "row_in_registers"),
    "benchmarks/kernels/scan/cuda.json": ("row_scan",),
    "benchmarks/kernels/batched_gemm/cuda.json": ("sgemm_ring", "sgemm_tiles"),
    "benchmarks/kernels/sum/cuda.json": ("sum_blocks",),
    "benchmarks/kernels/histogram/cuda.json": ("histogram_shared",),
    "examples/cuda_histogram/spec.json": ("histogram_shared",),
    "examples/cuda_transpose/spec.json": ("transpose_tile",),
}


def beginner(path: str) -> LoadedKernel:
    """The kernel of a spec on two small workloads."""
    data = json.loads((ROOT / path).read_text(encoding="utf-8"))
    known = {name: {**of, "batch": of["B"]} for name, of in SIZES.items()}
    data["workloads"] = [
        {"name": n, "symbols": {s: min(of[s], d["max"]) for s, d in data["symbols"].items()}}
        for n, of in known.items()
    ]
    return load_data(data, (ROOT / path).parent, Roots([ROOT]))


def written(kernel: LoadedKernel, candidate: Candidate) -> LoadedKernel:
    """What a candidate makes of a kernel, as a kernel; few blocks where loops cover the rest, since
    a pretended GPU runs them in turn."""
    plan = dict(candidate.plan or {})
    defines: Mapping[str, int] = plan.get("defines", {})
    plan["defines"] = {n: min(v, 3) if n.endswith("_BLOCKS") else v for n, v in defines.items()}
    data: dict[str, Any] = kernel.model_dump(mode="json")["spec"]
    own = data["kernel"]
    source = {"source_code": candidate.source, "source_path": None, "launch": None, "plan": plan}
    data["kernel"] = {name: v for name, v in {**own, **source}.items() if v is not None}
    data["reference"] = {"source_code": kernel.reference}
    return load_data(data, ROOT, Roots([ROOT]))


def check(bench: Workbench, kernel: LoadedKernel, move: str, detail: str = "") -> None:
    """The likeliest candidate of a move is right; on a real GPU, where it is quick, all are.

    `detail`: what the candidates tell of themselves.
    """
    state = State("cuda", kernel.source, {}, BuildOptions(), kernel.spec)
    every = BY_ID[move].propose(state)
    assert not isinstance(every, NotApplicable), every.reason
    found = [c for c in every if detail in c.detail]
    assert found
    for candidate in found[: 1 if "pretended" in str(bench.outdir) else None]:
        opened = bench.evaluator.open(written(kernel, candidate))
        assert opened.timed, opened.notes


@pytest.mark.gpu
@pytest.mark.parametrize("what", TENSOR)
def test_what_is_written_for_tensor_cores_is_right(
    tmp_path_factory: pytest.TempPathFactory, what: str
) -> None:
    source: Source = TENSOR[what]
    folder = tmp_path_factory.mktemp("real")
    with gpu_of("real", folder), Workbench(folder / "out", [ROOT]) as bench:
        check(bench, source.kernel(), source.moves[0])


@pytest.fixture(scope="module", params=GPUS)
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workbench]:
    if shutil.which("g++") is None:
        pytest.skip("no g++ for the pretended GPU")
    folder = tmp_path_factory.mktemp(request.param)
    with gpu_of(request.param, folder), Workbench(folder / "out", [ROOT]) as opened:
        yield opened


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("spec", "move"), [(spec, move) for spec, moves in BEGINNERS.items() for move in moves]
)
def test_what_is_written_for_a_beginners_kernel_is_right(
    tmp_path_factory: pytest.TempPathFactory, spec: str, move: str
) -> None:
    folder = tmp_path_factory.mktemp("real")
    with gpu_of("real", folder), Workbench(folder / "out", [ROOT]) as bench:
        check(bench, beginner(spec), move)


@cases(
    ("what", "move"),
    [(what, move) for what, source in SOURCES.items() for move in source.moves],
    why="further idioms and spellings, through a whole opening: all are built in test_idioms",
    kinds=lambda what, move: {move} & RUN,
)
def test_what_is_written_for_another_spelling_is_right(
    bench: Workbench, what: str, move: str
) -> None:
    source = SOURCES[what]
    if "#include" in source.text and "pretended" in str(bench.outdir):
        pytest.skip("the pretended GPU has no cuda_fp16.h")
    check(bench, source.kernel(), move)


@cases(
    "columns",
    [(2048, 2048), (1999, 2044)],
    why="rows that end within a vector: the spellings have such",
)
def test_a_row_in_the_registers_of_a_warp_is_right(
    bench: Workbench, columns: tuple[int, ...]
) -> None:
    sizes = {f"w{at}": {"rows": 6 + at, "cols": c} for at, c in enumerate(columns)}
    what = "softmax that computes its exponentials twice, by values of its own"
    kernel = replace(SOURCES[what], sizes=sizes).kernel()
    check(bench, kernel, "row_in_registers", "32 threads a row, 16 vectors")


@cases(
    "move",
    ["row_per_team", "row_in_registers"],
    why="the other idiom of rows, which takes its columns alike",
)
def test_a_first_column_that_no_loop_writes_stays_as_it_is(bench: Workbench, move: str) -> None:
    source = SOURCES["in place, with a weight a column"]
    text = source.text.replace("j = 0", "j = 1").replace(
        "s += x[row * cols + j] * w[j]", "s += w[j]"
    )
    text = text.replace("= x[row * cols + j] + s", "= s")
    reference = (
        "import numpy as np\ndef reference(x, w, rows, cols):\n    y = np.array(x)\n"
        "    y[:, 1:] = w[1:].sum()\n    return y\n"
    )
    check(bench, replace(source, text=text, reference=reference).kernel(), move)
