"""What lines of a variant became, as a client asks for it, on a machine with or without a GPU."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from kernels import tiny_kernel, with_known_peaks
from profiles import keep_profile, launch, run
from pydantic import ValidationError
from tiers import cases, further

from kernelwright.analysis.spans import lines_of
from kernelwright.analysis.spans.profile import IDEAL_SECTORS, SECTORS
from kernelwright.evaluation.evidence.kernel_code import code_of_variant
from kernelwright.runners.errors import SpecError
from kernelwright.runners.profiling.model import Instruction
from kernelwright.runners.profiling.wanted import SAMPLES, STALL
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.parts.span_rows import LineCounts, runs
from kernelwright.tools.ptx_for_source_span import SpanArguments, SpanResult, ptx_for_source_span

EXAMPLES = Path(__file__).parents[2] / "examples"
MAX_REPLY_CHARS = 4500
"""1,500 tokens of code and JSON, at three characters a token"""
TRITON = bool(find_spec("triton") and find_spec("torch"))
needs_triton = pytest.mark.skipif(not TRITON, reason="triton and torch are not installed")
needs_cuda = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")


def baseline(bench: Workbench, spec: str) -> tuple[str, list[str]]:
    """The baseline's id, and the lines of its source."""
    opened = open_kernel(bench, OpenKernelArguments(spec_path=spec))
    kernel = bench.evaluator.kernel(opened.kernel_id)
    return kernel.baseline, kernel.loaded.source.splitlines()


def ask(bench: Workbench, variant_id: str, **arguments: Any) -> SpanResult:
    return ptx_for_source_span(bench, SpanArguments(variant_id=variant_id, **arguments))


def whole(bench: Workbench, variant_id: str, **arguments: Any) -> list[Any]:
    """All rows, page by page; every reply is a small one."""
    rows = list[Any]()
    while True:
        reply = ask(bench, variant_id, offset=len(rows), **arguments)
        text = json.dumps(reply.model_dump(mode="json", exclude_none=True))
        assert len(text) <= MAX_REPLY_CHARS
        rows += reply.lines if reply.lines is not None else reply.instructions or ()
        assert reply.total >= len(rows)
        if reply.next_offset is None:
            assert reply.total == len(rows)
            return rows
        assert reply.next_offset == len(rows)


@needs_cuda
def test_lines_of_a_cuda_kernel_are_counted_by_what_their_instructions_do(
    bench: Workbench,
) -> None:
    variant_id, source = baseline(bench, "cuda_sgemm/spec.json")
    reply = ask(bench, variant_id, start=1, end=len(source))
    assert reply.lines is not None and reply.without_code is not None
    rows = {row.text: row for row in whole(bench, variant_id, start=1, end=len(source))}
    product = rows["for (int t = 0; t < TILE; ++t) sum += a[threadIdx.y][t] * b[t][threadIdx.x];"]
    assert product.ptx["compute"] == 16 and product.of_calls is None
    if not reply.missing:
        assert product.sass["compute"] == 16 and product.sass["shared"]
    (comment,) = (n for n, line in enumerate(source, 1) if "nobody may fetch" in line)
    assert str(comment) in reply.without_code["no code: a comment"]


@needs_cuda
def test_several_kernels_of_one_plan_are_told_apart(bench: Workbench) -> None:
    variant_id, source = baseline(bench, "cuda_sum/spec.json")
    call = next(n for n, line in enumerate(source, 1) if "sum = sum_of_block" in line)
    shared = next(n for n, line in enumerate(source, 1) if "return sums[0]" in line)
    rows = whole(bench, variant_id, start=shared)
    assert [row.kernel for row in rows] == ["sum_blocks", "sum_all"]
    (row,) = whole(bench, variant_id, start=call)
    assert row.kernel == "sum_blocks" and 0 < row.of_calls <= sum(row.sass.values())
    with pytest.raises(SpecError, match="give kernel, too"):
        ask(bench, variant_id, sass_offset=0)
    assert ask(bench, variant_id, sass_offset=0, kernel="sum_all").instructions
    with pytest.raises(SpecError, match="Valid: sum_blocks, sum_all"):
        ask(bench, variant_id, start=1, kernel="sum")


@needs_cuda
def test_an_instruction_leads_back_to_its_line(bench: Workbench) -> None:
    variant_id, source = baseline(bench, "cuda_scale/spec.json")
    (line,) = (n for n, text in enumerate(source, 1) if "x[i] " in text)
    for part in ("ptx", "sass"):
        for row in whole(bench, variant_id, start=line, part=part):
            at = row.split()[1].rstrip(":")
            wanted = {"ptx_line": int(at)} if part == "ptx" else {"sass_offset": int(at, 16)}
            back = ask(bench, variant_id, **wanted).instructions
            assert back is not None and back[0] == row and f"scale.cu:{line}" in row


@further(
    "tests/tools/test_ptx_for_source_span.py::"
    "test_lines_of_a_cuda_kernel_are_counted_by_what_their_instructions_do",
    why="all lines of kernels in Triton, page by page",
)
@needs_triton
@cases(
    "spec",
    ["triton_matmul/spec.json", "triton_softmax/spec.json"],
    why="a further kernel of Triton",
)
def test_replies_are_small_and_their_pages_hold_all(bench: Workbench, spec: str) -> None:
    variant_id, source = baseline(bench, spec)
    lines = whole(bench, variant_id, start=1, end=len(source))
    (kernel,) = ask(bench, variant_id, start=1).kernels
    for part, total in (("ptx", kernel.ptx), ("sass", kernel.sass)):
        rows = whole(bench, variant_id, start=1, end=len(source), part=part)
        assert len(rows) == len(set(rows)) == total
    assert all(row.sass for row in lines) and any(row.of_calls for row in lines)


@needs_cuda
def test_what_a_profile_counted_stands_beside_the_line(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two warps load from 8 sectors each where 4 would do, and wait there."""
    variant_id, source = baseline(bench, "cuda_scale/spec.json")
    assert ask(bench, variant_id, start=1).profile == "no profile: ncu_summary makes one"
    (code,) = code_of_variant(bench, variant_id, None, None)
    (line,) = (n for n, text in enumerate(source, 1) if "x[i] " in text)
    at, beside = [e.offset for e in code.sass if line in lines_of(e.place, "scale.cu")][:2]
    loads = {"inst_executed": 2.0, SECTORS: 16.0, IDEAL_SECTORS: 8.0, SAMPLES: 30.0}
    loads |= {STALL + "long_scoreboard": 20.0, STALL + "selected": 10.0}
    counted = (
        Instruction(offset=at, counters=loads),
        Instruction(offset=beside, counters={"inst_executed": 2.0}),  # asks for nothing
        Instruction(offset=code.sass[-1].offset, counters={SAMPLES: 10.0}),
    )
    profile = run(launch({}, kernel="scale", instructions=counted))
    keep_profile(bench, variant_id, profile, monkeypatch)
    told = ask(bench, variant_id, start=line)
    assert told.profile == "40 samples of scale" and told.lines is not None
    assert told.lines[0].profile == LineCounts(
        samples=30,
        share=0.75,
        stalls={"long_scoreboard": 20},
        sectors_per_request=8,
        of_ideal=2,
    )
    (row,) = list(ask(bench, variant_id, sass_offset=at).instructions or ())
    assert row.endswith("; 30 samples (long_scoreboard)")
    rows = whole(bench, variant_id, start=1, end=len(source))
    assert sum(row.profile is not None for row in rows) <= 3


@needs_cuda
def test_what_a_variant_does_not_have_is_refused_with_what_it_has(bench: Workbench) -> None:
    variant_id, source = baseline(bench, "cuda_scale/spec.json")
    with pytest.raises(SpecError, match=f"start <= end <= {len(source)}"):
        ask(bench, variant_id, start=2, end=len(source) + 1)
    with pytest.raises(SpecError, match=r"Valid: scale\.cu"):
        ask(bench, variant_id, start=1, file="scale.cuh")
    with pytest.raises(SpecError, match="no instruction of scale"):
        ask(bench, variant_id, ptx_line=1)
    spec = bench.evaluator.kernel(bench.evaluator.variant(variant_id).variant.kernel_id).spec
    (hidden,) = (w.name for w in spec.workloads if w.held_out)
    with pytest.raises(SpecError, match=f"no workload `{hidden}`"):
        ask(bench, variant_id, start=1, workload=hidden)


def test_host_code_has_no_code_of_a_gpu(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as host:
        variant_id, _ = baseline(host, "spec.json")
        with pytest.raises(SpecError, match="host C"):
            ask(host, variant_id, start=1)


@pytest.mark.parametrize(
    "given", [{}, {"start": 1, "ptx_line": 2}, {"ptx_line": 1, "end": 3}, {"start": 0}]
)
def test_a_span_or_one_instruction_is_asked_for(given: dict[str, int]) -> None:
    with pytest.raises(ValidationError):
        SpanArguments(variant_id="v", **given)  # type: ignore[arg-type]


def test_runs_of_numbers_are_shortened() -> None:
    assert runs([]) == "" and runs([3, 7, 8, 9, 11, 12]) == "3, 7-9, 11-12"
