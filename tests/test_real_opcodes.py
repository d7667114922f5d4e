"""What the Region-DAG counts in PTX, against the instructions that an H200 executed."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping

import pytest
from device_kernels import built
from planted_kernels import PAIRS
from real_reports import TWINS, needs_reader, real_launch

from kernelwright.analysis.ptx.effects import effect
from kernelwright.analysis.regions import RegionDag, region_dag
from kernelwright.analysis.rules.names import OPCODES
from kernelwright.analysis.sass.classes import class_of
from kernelwright.runners.toolchains.cuda_request import present

pytestmark = [needs_reader, pytest.mark.skipif("nvrtc" not in present(), reason="no NVRTC here")]
KERNELS = [(rule, twin) for rule in PAIRS for twin in TWINS]
BRANCHES = {("divergence", "repaired")}
"""of which a part of the work lies under a branch that not every warp takes"""
ONE_TO_ONE = ("global_load", "global_store", "tensor", "sync", "atomic")
"""classes of which one instruction of PTX is one of the machine in these kernels; shared loads are
not: the assembler makes one wide one of several. None of them has atomics, and none executed any"""


def counted(dag: RegionDag) -> Mapping[str, int]:
    """Instructions of a thread by phase, those of loops times their trips."""
    found = Counter[str]()
    for region in dag.regions:
        times, symbols = dag.times(region.loop)
        assert not symbols, "each planted loop has trips that the text tells"
        for each in dag.instructions(region):
            found[effect(each.opcode).phase.value] += times
    return found


def executed(rule: str, twin: str) -> Mapping[str, float]:
    """Instructions of the mean warp by class."""
    launch = real_launch(rule, twin)
    warps = math.prod(launch.shape.grid) * math.prod(launch.shape.block) // 32
    found = defaultdict[str, float](float)
    for opcode, number in launch.metrics[OPCODES].instances.items():
        # WARPSYNC and its like come from the branches of the source, not from its barriers
        if class_of(opcode) != "sync" or opcode == "BAR":
            found[class_of(opcode)] += number / warps
    return found


@pytest.mark.parametrize(("rule", "twin"), KERNELS)
def test_static_counts_times_warps_and_trips_are_what_was_executed(rule: str, twin: str) -> None:
    source = getattr(PAIRS[rule], twin).source
    static, real = counted(region_dag(built(source, "sm_90a")[1])), executed(rule, twin)
    for kind in ONE_TO_ONE:
        if (rule, twin) in BRANCHES and kind == "global_load":
            assert 0 < real[kind] < static[kind], "an upper bound, as work under a branch is"
        else:
            assert static.get(kind, 0) == real.get(kind, 0), kind
    assert bool(static.get("shared")) == bool(real.get("shared"))
    assert real.get("shared", 0) <= static.get("shared", 0)
