"""Which region a profile blames, and whether another variant touched it."""

from __future__ import annotations

import re

import pytest
import region_dags
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ptx_texts import NAMES, kernel_text, module, text

from kernelwright.analysis.regions import RegionDag, region_dag
from kernelwright.analysis.regions.blame import hot_region, samples_by_region
from kernelwright.analysis.regions.touch import touch
from kernelwright.analysis.sass import Sass, SassInstruction
from kernelwright.analysis.spans import KernelCode, join
from kernelwright.analysis.spans.profile import LineProfile, line_profile
from kernelwright.runners.profiling.model import Instruction, KernelProfile, LaunchShape
from kernelwright.runners.profiling.wanted import SAMPLES

SGEMM = region_dags.dag("sgemm")
SHAPE = LaunchShape(grid=(1, 1, 1), block=(1, 1, 1))


def named(dag: RegionDag, phase: str, depth: int = 2) -> int:
    """The index of the only region of a phase at a depth of loops."""
    (found,) = (
        n
        for n, r in enumerate(dag.regions)
        if r.phase.value == phase and len(dag.around(r.loop)) == depth
    )
    return found


def sampled(dag: RegionDag, name: str, samples: dict[int, float]) -> tuple[KernelCode, LineProfile]:
    """Machine code of one instruction for each of the PTX, and samples by the PTX line; those of
    line 0 are at an instruction that no line is named for."""
    lines = [0, *(each.line for each in dag.function.instructions)]
    machine = [
        SassInstruction(16 * n, "NOP", "", "", (), line or None) for n, line in enumerate(lines)
    ]
    code = join(dag.entry, module(name), Sass({dag.entry: tuple(machine)}, ()))
    counted = tuple(
        Instruction(offset=16 * lines.index(line), counters={SAMPLES: count})
        for line, count in samples.items()
    )
    launch = KernelProfile(
        kernel=dag.entry, name=dag.entry, shape=SHAPE, metrics={}, instructions=counted
    )
    return code, line_profile(launch)


# --- which region is to blame


def test_a_profile_blames_the_region_with_most_samples() -> None:
    shared = named(SGEMM, "shared")
    first, second = SGEMM.instructions(SGEMM.regions[shared])[:2]
    other = SGEMM.instructions(SGEMM.regions[named(SGEMM, "compute")])[0]
    counts = {first.line: 30.0, second.line: 32.0, other.line: 28.0, 0: 10.0}
    hot = hot_region(SGEMM, *sampled(SGEMM, "sgemm", counts))
    assert hot is not None and (hot.region, hot.share, hot.of) == (shared, 0.62, "samples")
    assert hot.sampled


def test_samples_outside_of_the_kernels_lines_are_in_no_region() -> None:
    code, profile = sampled(SGEMM, "sgemm", {0: 7.0})
    assert samples_by_region(SGEMM, code, profile) == ({}, 7.0)


def test_without_samples_the_region_with_most_work_is_named_and_said_to_be_that() -> None:
    for given_ in [(None, None), sampled(SGEMM, "sgemm", {})]:
        hot = hot_region(SGEMM, *given_)
        assert hot is not None and not hot.sampled
        assert (hot.region, hot.of) == (named(SGEMM, "compute"), "FLOPs")


def test_a_kernel_that_does_nothing_has_no_region_to_blame() -> None:
    empty = ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k()\n{\n}\n"
    assert hot_region(region_dag(empty)) is None


# --- whether it was touched


@pytest.mark.parametrize("name", NAMES)
def test_a_kernel_touches_nothing_of_itself(name: str) -> None:
    dag = region_dags.dag(name)
    assert not any(touch(dag, number, dag).touched for number in range(len(dag.regions)))


@pytest.mark.parametrize("name", ["sgemm", "triton_softmax", "cub_sum", "mma_ptx"])
def test_other_names_of_registers_and_labels_touch_nothing(name: str) -> None:
    dag = region_dags.dag(name)
    renamed = re.sub(r"%(r|rd|f|p)(?=\d+\b)", r"%\1x", text(name))
    renamed = re.sub(r"%(r|rd|f|p)(?=<)", r"%\1x", renamed).replace("$L__BB", "$Lother")
    assert renamed != text(name)
    other = region_dag(renamed)
    assert not any(touch(dag, number, other).touched for number in range(len(dag.regions)))


def test_other_instructions_touch_a_region_and_leave_the_others_alone() -> None:
    other = region_dag(text("sgemm").replace("fma.rn.f32", "fma.rz.f32"))
    found = touch(SGEMM, named(SGEMM, "compute"), other)
    assert found.touched and found.why == "its instructions are others"
    assert not touch(SGEMM, named(SGEMM, "shared"), other).touched


def test_another_stride_in_shared_memory_touches_the_loads() -> None:
    """A padded tile: the same loads from other places."""
    other = region_dag(re.sub(r"\+-512\]", "+-516]", text("sgemm")))
    assert touch(SGEMM, named(SGEMM, "shared"), other).touched


def test_what_waits_for_a_region_that_changed_is_touched_by_that() -> None:
    other = region_dag(re.sub(r"\+-512\]", "+-516]", text("sgemm")))
    found = touch(SGEMM, named(SGEMM, "compute"), other)
    assert found.touched and "what it waits for is another" in found.why
    assert f"{SGEMM.regions[named(SGEMM, 'shared')].name} shared" in found.why


def test_code_that_computes_other_addresses_touches_what_uses_them() -> None:
    dag = region_dags.dag("copy4")
    other = region_dag(text("copy4").replace("%r1, 16;", "%r1, 32;"))
    found = touch(dag, named(dag, "global_load", 0), other)
    assert found.touched and "other code computes what they are given" in found.why


def test_another_number_of_iterations_is_said() -> None:
    body = "mov.u32 %r1, 0;\n$L1:\nld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;\n"
    body += "add.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 8;\n@%p1 bra $L1;\nret;"
    dag = region_dag(kernel_text(body))
    other = region_dag(kernel_text(body.replace("%r1, 8;", "%r1, 16;")))
    found = touch(dag, named(dag, "global_load", 1), other)
    assert found.touched and "another number of times" in found.why


@settings(deadline=None)
@given(st.sampled_from(NAMES), st.data())
def test_an_instruction_more_touches_its_region(name: str, data: st.DataObject) -> None:
    """Whatever region: twice what is there once is another."""
    dag = region_dags.dag(name)
    number = data.draw(st.integers(0, len(dag.regions) - 1))
    first = dag.instructions(dag.regions[number])[0]
    line = first.line
    lines = text(name).split("\n")
    written = lines[line - 1]
    assume(written.count(";") == 1 and written.count("{") == written.count("}"))
    assume(first.stem not in ("bra", "ret", "exit"))
    other = region_dag("\n".join([*lines[:line], written, *lines[line:]]))
    assert touch(dag, number, other).touched
