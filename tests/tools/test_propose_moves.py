"""What could be tried from a variant, by what is known of it: structure, profile, measured time."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from kernels import tiny_kernel, with_known_peaks
from planted import PLANTED, profile
from pydantic import ValidationError

from kernelwright.evaluation.evidence import evidence as evidence_of
from kernelwright.runners.errors import HandleUnknown
from kernelwright.runners.profiling.model import Profile
from kernelwright.search.moves import METHODS
from kernelwright.search.session.workbench import Workbench
from kernelwright.skills.catalogue import catalogue
from kernelwright.store.records import ArtifactRecord
from kernelwright.tools.compile_variant import CompileVariantArguments, compile_variant
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.propose_moves import (
    ByHandMove,
    ProposedMove,
    ProposedMoves,
    ProposeMovesArguments,
    propose_moves,
)

EXAMPLES = Path(__file__).parents[2] / "examples"
MAX_REPLY_CHARS = 4500
"""1,500 tokens of code and JSON, at three characters a token"""
needs_cuda = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no CUDA compiler here")


def kernel_id(bench: Workbench, name: str) -> str:
    return open_kernel(bench, OpenKernelArguments(spec_path=f"{name}/spec.json")).kernel_id


def ask(bench: Workbench, kernel: str) -> ProposedMoves:
    reply = propose_moves(bench, ProposeMovesArguments(kernel_id=kernel))
    text = json.dumps(reply.model_dump(mode="json", exclude_none=True))
    assert len(text) <= MAX_REPLY_CHARS
    return reply


def told(reply: ProposedMoves) -> dict[str, ProposedMove | ByHandMove]:
    """What is told of methods, ready-made or to be written, the likeliest first."""
    every = sorted((*reply.moves, *reply.by_hand), key=lambda each: -each.prior)
    return {each.method: each for each in every}


def profiled(monkeypatch: pytest.MonkeyPatch, rule: str) -> None:
    """As if ncu_summary had kept a profile with this fault."""
    fault = profile(PLANTED[rule])

    def kept(bench: Workbench, variant_id: str, workload: str) -> Profile | None:
        return fault

    monkeypatch.setattr(evidence_of, "kept_profile", kept)


@needs_cuda
def test_without_a_gpu_the_structure_ranks_what_is_written_by_hand(bench: Workbench) -> None:
    reply = ask(bench, kernel_id(bench, "cuda_sgemm"))
    found = told(reply)
    assert {"enable_async_pipeline", "fewer_barriers"} <= set(tuple(found)[:6])
    assert "Evidence: x2 unpipelined_loads (region" in found["enable_async_pipeline"].why
    assert "avoid_atomics_reduce" in reply.also_by_hand
    assert "launch plan and compiler" in reply.basis and "the structure of its PTX" in reply.basis
    assert "ncu_summary" not in reply.advice, "there is no GPU to profile on"


@needs_cuda
def test_a_kept_profile_decides_over_the_structure(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_id(bench, "cuda_sgemm")
    before = tuple(told(ask(bench, kernel)))
    profiled(monkeypatch, "smem_bank_conflicts")
    reply = ask(bench, kernel)
    found = told(reply)
    assert "swizzle_shared_memory" in tuple(found)[:2]
    assert "swizzle_shared_memory" not in before[:2]
    assert "smem_bank_conflicts (94 % of the shared" in found["swizzle_shared_memory"].why
    assert "the counters of its profile" in reply.basis and "measured time" not in reply.basis


@needs_cuda
def test_a_saturated_roof_pushes_ready_made_candidates_that_keep_its_load_down(
    bench: Workbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = kernel_id(bench, "cuda_sgemm")
    everything = ProposeMovesArguments(kernel_id=kernel, limit=50)
    before = {each.method: each for each in propose_moves(bench, everything).moves}
    profiled(monkeypatch, "severe_memory_bound")
    after = {each.method: each for each in propose_moves(bench, everything).moves}
    flags = [moves["cuda_flags"].candidates[0].prior for moves in (before, after)]
    assert flags[1] == pytest.approx(flags[0] / 4)
    assert "x0.25 saturated (DRAM at 92 %)" in after["cuda_flags"].why
    values = [moves["tune_parameters"].candidates[0].prior for moves in (before, after)]
    assert values[1] == values[0]


@needs_cuda
def test_probabilities_of_everything_that_fits_add_up_to_one_at_most(bench: Workbench) -> None:
    reply = ask(bench, kernel_id(bench, "cuda_histogram"))
    shown = [each.prior for each in (*reply.moves, *reply.by_hand)]
    assert 0 < sum(shown) <= 1.01
    assert "avoid_atomics_reduce" in tuple(told(reply))[:2]
    assert [each.prior for each in reply.moves] == sorted(
        (each.prior for each in reply.moves), reverse=True
    )


@needs_cuda
def test_skills_are_named_where_there_is_a_page(bench: Workbench) -> None:
    pages = {page.id for page in catalogue()}
    named = [each.skill for each in ask(bench, kernel_id(bench, "cuda_sgemm")).by_hand]
    assert any(named) and all(each is None or each in pages for each in named)


@needs_cuda
def test_ptx_that_is_gone_is_told_and_costs_no_reply(tmp_path: Path) -> None:
    with Workbench(tmp_path / "out", [EXAMPLES]) as bench:
        kernel = kernel_id(bench, "cuda_sgemm")
        record = bench.store.require_record(
            "artifacts", bench.evaluator.kernel(kernel).baseline, ArtifactRecord
        )
        (ptx,) = {m.sha256 for m in record.artifact.modules if m.kind == "ptx"}
        for path in (bench.outdir / "modules").glob(f"{ptx}*"):
            path.unlink()
        assert "cannot be read" in ask(bench, kernel).basis


def test_of_host_code_the_measured_time_is_what_there_is(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as bench:
        opened = open_kernel(bench, OpenKernelArguments(spec_path="spec.json"))
        reply = ask(bench, opened.kernel_id)
    assert reply.basis == "its measured time (main)"
    known = {*told(reply), *reply.also_ready, *reply.also_by_hand, *reply.do_not_fit}
    assert known == {method.id for method in METHODS if "cpp" in method.languages}


def test_a_ready_made_candidate_is_built_by_its_handle(tmp_path: Path) -> None:
    tiny_kernel(tmp_path)
    with Workbench(with_known_peaks(tmp_path / "out"), [tmp_path]) as bench:
        opened = open_kernel(bench, OpenKernelArguments(spec_path="spec.json"))
        restrict = next(
            c
            for move in ask(bench, opened.kernel_id).moves
            for c in move.candidates
            if "__restrict" in c.detail
        )
        asked = CompileVariantArguments(kernel_id=opened.kernel_id, ready=restrict.ready)
        built = compile_variant(bench, asked)
        assert built.ok and built.changed.startswith("source (")
        made = bench.evaluator.variant(built.variant_id)
        assert made.detail == restrict.detail and "__restrict" in made.variant.source
        odd = asked.model_copy(update={"ready": "r00000000"})
        with pytest.raises(HandleUnknown, match="no rule writes a candidate `r00000000`"):
            compile_variant(bench, odd)


def test_a_ready_made_candidate_comes_alone() -> None:
    with pytest.raises(ValidationError, match="comes alone"):
        CompileVariantArguments(kernel_id="k", ready="r1", parameters={"TILE": 8})
