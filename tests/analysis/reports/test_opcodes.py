"""What the Region-DAG counts in PTX, against the instructions that an H200 executed."""

from __future__ import annotations

import importlib
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from device_kernels import built
from planted_kernels import PAIRS
from real_reports import KNOWN, TWINS, known_code, known_profile, needs_reader, real_launch
from tiers import cases

from kernelwright.analysis.profile.names import OPCODES
from kernelwright.analysis.ptx.effects import effect
from kernelwright.analysis.regions import RegionDag, region_dag
from kernelwright.analysis.sass.classes import class_of
from kernelwright.runners.toolchains.cuda_request import present

pytestmark = needs_reader
needs_nvrtc = pytest.mark.skipif("nvrtc" not in present(), reason="no NVRTC here")
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


@needs_nvrtc
@cases(
    ("rule", "twin"),
    KERNELS,
    kinds=lambda rule, twin: [twin, (rule, twin) in BRANCHES],
    why="further kernels, counted by the same opcodes",
)
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


# --- six known kernels, with the parameters of their launches


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The benchmark's comparison."""
    folder = str(Path(__file__).parents[3] / "benchmarks")
    monkeypatch.setattr(sys, "path", [folder, *sys.path])
    return importlib.import_module("instruments_counts")


def square(size: int) -> dict[str, int]:
    return {f"param{n}": size for n in (3, 4, 5)}


VALUES = {
    "triton_matmul": square(4096),
    "cuda_histogram": {"param2": 1 << 24},
    "hgemm_wgmma": square(4096),
    "triton_softmax": {"param2": 4096},
    "cuda_sgemm": square(2048),
    "gemm_cuda_fp16": square(4096),
}
"""the integers that each launch was given: M, N and K of the products"""
COUNTED = {
    "triton_matmul": {
        "global_store": (4, "equal"),
        "shared": (8, "equal, and 390 beyond the PTX"),
        "async_copy": (780, "equal"),
        "tensor": (256, "equal"),
        "sync": (645, "equal"),
    },
    "cuda_histogram": {"global_load": (1, "equal"), "atomic": (1, "equal")},
    "hgemm_wgmma": {
        "global_store": (82.7475, "equal"),
        "async_copy": (103.4343, "equal"),
        "tensor": (661.9798, "equal"),
        "sync": (705.1869, "equal, and 297.1 beyond the PTX"),
    },
    "triton_softmax": {
        "global_load": (8, "equal"),
        "global_store": (8, "equal"),
        "shared": (8, "equal"),
        "sync": (5, "equal"),
    },
    "cuda_sgemm": {
        "global_load": (256, "equal"),
        "global_store": (1, "equal"),
        "shared": (4352, "equal bytes, larger instructions"),
        "sync": (256, "equal"),
    },
    "gemm_cuda_fp16": {"global_load": (8192, "equal"), "global_store": (1, "equal")},
}
"""of the mean warp: what the PTX asks for, and what the comparison with the report says"""
ADDED = {
    ("triton_matmul", "shared"): {"no thread takes part (@!PT)": 3 * 130},
    ("hgemm_wgmma", "sync"): {
        "a thread is elected to start a bulk copy": 103.4343,
        "an mbarrier is asked again": 192.137,
        "threads of a warp meet again": 1.4148,
        "a fence takes several": 0.0833,
    },
}


@cache
def compared(script: Any, name: str) -> dict[str, Any]:
    (launch,) = known_profile(name).launches
    return script.counted(region_dag(known_code(name)[0]), launch, VALUES[name])


@cases(
    "name",
    KNOWN,
    kinds=lambda name: [name in {kernel for kernel, _ in ADDED}],
    why="further kernels, counted by the same opcodes",
)
def test_of_known_kernels_every_class_is_executed_as_the_ptx_asks(script: Any, name: str) -> None:
    classes = compared(script, name)["classes"]
    assert {of: (row["static"], row["verdict"]) for of, row in classes.items()} == COUNTED[name]
    explained = {
        (name, of): row["beyond_the_ptx"] for of, row in classes.items() if "beyond_the_ptx" in row
    }
    assert explained == {each: why for each, why in ADDED.items() if each[0] == name}


@pytest.mark.parametrize("name", KNOWN)
def test_every_access_moves_the_bytes_that_the_ptx_asks_for(script: Any, name: str) -> None:
    classes = compared(script, name)["classes"]
    sizes = {of: row["bytes"] for of, row in classes.items() if "bytes" in row}
    assert all(each["static"] == each["executed"] for each in sizes.values())
    assert sizes.keys() == {"global_load", "global_store", "shared"} & classes.keys()


@pytest.mark.parametrize("name", ["triton_matmul", "hgemm_wgmma"])
def test_tensor_flops_of_a_product_are_two_m_n_k_in_ptx_and_as_executed(
    script: Any, name: str
) -> None:
    wanted = 2.0 * 4096**3
    row = compared(script, name)["classes"]["tensor"]
    assert row["FLOPs"] == {"static": wanted, "executed": wanted}


def test_without_the_parameters_the_trips_stay_symbols_and_it_is_said_which(script: Any) -> None:
    (launch,) = known_profile("gemm_cuda_fp16").launches
    found = script.counted(region_dag(known_code("gemm_cuda_fp16")[0]), launch, {})
    row = found["classes"]["global_load"]
    assert row["verdict"] == "trips unknown, executed"
    assert row["unknown"] == ["(param5 - param5 % 4) / 4", "param5 % 4"]
    assert found["trips"] == {"L1": "(param5 - param5 % 4) / 4", "L2": "param5 % 4"}


def test_loops_that_wait_for_an_mbarrier_have_no_count(script: Any) -> None:
    trips = compared(script, "hgemm_wgmma")["trips"]
    waiting = {name for name, said in trips.items() if said == "as often as it waits"}
    assert waiting == {"L8", "L11"}
    assert not any(said.startswith("n of") for said in trips.values())


def test_fewer_executions_under_a_condition_are_said_to_be_so(script: Any) -> None:
    (launch,) = known_profile("cuda_histogram").launches
    shape = launch.shape.model_copy(update={"grid": (131072, 1, 1)})
    twice = launch.model_copy(update={"shape": shape})  # half of whose warps come to nothing
    found = script.counted(region_dag(known_code("cuda_histogram")[0]), twice, {})
    row = found["classes"]["global_load"]
    assert row["verdict"] == "fewer executed, under conditions"
    assert row["counted_as_met"] == ["256 * ctaid.x + tid.x < param2"]
