"""Bulk copies to global memory: whether they are waited for is read from machine code."""

from __future__ import annotations

import shutil
import subprocess
from collections import defaultdict
from collections.abc import Mapping

import pytest

from kernelwright.runners.screens.instructions.machine_code import MachineCode, findings

COPY = "cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;"
REDUCE = "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 1024;"
TILE = "cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group [%0, {%2}], [%1];"
COMMIT, WAIT = "cp.async.bulk.commit_group;", "cp.async.bulk.wait_group 0;"
READ, ALL_BUT_ONE = "cp.async.bulk.wait_group.read 0;", "cp.async.bulk.wait_group 1;"
LOADED = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%0], 1024, [%1];"
GROUP = "cp.async.commit_group; cp.async.wait_group 0;"


def asm(*statements: str) -> str:
    text = " ".join(statements)
    return f'asm volatile("{text}" :: "l"(y), "r"(at), "r"(n) : "memory");'


ONE = "if (threadIdx.x == 0) {{ {} }}"
ENDLESS = "for (int i = 0; i < n; ++i) {{ {} __syncthreads(); }}"
BODIES: Mapping[str, tuple[str, str]] = {
    "waits": (asm(COPY, COMMIT, WAIT), ""),
    "waits_for_reading": (asm(COPY, COMMIT, READ), ""),
    "waits_in_one_thread": (
        ONE.format(asm(COPY, COMMIT)) + " __syncthreads(); " + ONE.format(asm(WAIT)),
        "",
    ),
    "waits_behind_a_loop": (
        ENDLESS.format(ONE.format(asm(COPY, COMMIT, ALL_BUT_ONE))) + ONE.format(asm(WAIT)),
        "",
    ),
    "waits_in_a_function": (asm(COPY, COMMIT) + " wait(n);", ""),
    "reduces_and_waits": (asm(REDUCE, COMMIT, WAIT), ""),
    "stores_a_tile_and_waits": (asm(TILE, COMMIT, READ), ""),
    "loads": (asm(LOADED), ""),
    "never_commits": (asm(COPY), "block"),
    "never_waits": (asm(COPY, COMMIT), "block"),
    "waits_before": (asm(WAIT) + asm(COPY, COMMIT), "block"),
    "waits_without_a_group": (asm(COPY, WAIT), "block"),
    "reduces_and_goes": (asm(REDUCE, COMMIT), "block"),
    "stores_a_tile_and_goes": (asm(TILE, COMMIT), "block"),
    "waits_on_another_way": (
        f"if (n > 7) {{ {asm(COPY, COMMIT)} }} else {{ {asm(COPY, COMMIT, WAIT)} }}",
        "block",
    ),
    "goes_from_a_loop": (ENDLESS.format(ONE.format(asm(COPY, COMMIT))), "block"),
    "waits_for_loads_before": (asm(GROUP) + asm(COPY, COMMIT), "block"),
    "leaves_the_last": (ENDLESS.format(ONE.format(asm(COPY, COMMIT, ALL_BUT_ONE))), "probe"),
}
SOURCE = """
__device__ __noinline__ void wait(int n) {
    if (n != 3) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
""" + "".join(
    f"""
extern "C" __global__ void {name}(int* y, int n) {{
    __shared__ __align__(128) int part[256];
    part[threadIdx.x] = n;
    __syncthreads();
    const unsigned at = __cvta_generic_to_shared(part);
    {body}
}}
"""
    for name, (body, _) in BODIES.items()
)


@pytest.fixture(scope="module")
def tiers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Of what is found, by kernel, each screened as if it were launched alone."""
    if not (shutil.which("nvcc") and shutil.which("g++")):
        pytest.skip("no nvcc with a g++ here")
    folder = tmp_path_factory.mktemp("bulk")
    (folder / "k.cu").write_text(SOURCE, encoding="utf-8")
    command = ["nvcc", "-arch=sm_90a", "-cubin", "k.cu", "-o", "k.cubin"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    cubin, found = (folder / "k.cubin").read_bytes(), defaultdict[str, set[str]](set)
    for name in BODIES:
        for each in findings(MachineCode(cubin, frozenset({name})), None):
            if "copies to global memory" in each.reason:
                found[name].add(each.tier)
    return found


@pytest.mark.parametrize("name", BODIES)
def test_a_copy_that_nothing_can_wait_for_is_found_and_no_other(
    name: str, tiers: dict[str, set[str]]
) -> None:
    assert tiers.get(name, set()) == set(filter(None, {BODIES[name][1]}))
