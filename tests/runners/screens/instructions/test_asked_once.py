"""Questions to an mbarrier: whether answers decide anything is read from machine code and PTX."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernelwright.runners.screens.instructions.machine_code import MachineCode, findings

STAGES = (
    "for (int t = 0; t < n; ++t) {{ const unsigned k = t & 3; LOADS(k, t); {} __syncthreads(); }}"
)
PARITY = "barrier + 8 * k, t >> 2 & 1"
READS = "y[i] = part[i];"
HONEST: Mapping[str, str] = {
    "asks_until_it_is_over": f"LOAD; while (!try_wait(barrier, 0)) {{}} {READS}",
    "tests_until_it_is_over": f"LOAD; while (!test_wait(barrier, 0)) {{}} {READS}",
    "asks_within_a_time": f"LOAD; while (!try_within(barrier, 0)) {{}} {READS}",
    "asks_once_more_elsewhere": f"LOAD; if (!try_wait(barrier, 0)) WAIT(barrier, 0); {READS}",
    "asks_at_each_stage": STAGES.format(
        f"while (!try_wait({PARITY})) {{}} y[256 * t + i] = part[256 * k + i];"
    ),
    "asks_a_stage_ahead": "bool over = false; "
    + STAGES.format(
        f"if (!over) while (!try_wait({PARITY})) {{}} y[256 * t + i] = part[256 * k + i];"
        "over = t + 1 < n && test_wait(barrier + 8 * (t + 1 & 3), t + 1 >> 2 & 1);"
    ),
    "asks_in_one_thread": f"LOAD; if (i == 0) WAIT(barrier, 0); __syncthreads(); {READS}",
    "asks_for_a_warp": "LOAD; const bool over = try_wait(barrier, 0);"
    f"if (i < 32) {{ if (!over) WAIT(barrier, 0); {READS} }}",
    "tells_all_threads": "LOAD; if (i == 0) told = 0; while (!told) {"
    f"if (i == 0) told = try_wait(barrier, 0); __syncthreads(); }} {READS}",
    "works_while_it_is_not_over": "LOAD; float sum = 0; while (!test_wait(barrier, 0)) sum += x[i];"
    "y[i] = part[i] + sum;",
    "reads_shared_memory_meanwhile": "LOAD; float sum = 0;"
    "while (!test_wait(barrier, 0)) sum += part[512 + i]; y[i] = part[i] + sum;",
    "stops_after_some_tries": "LOAD; int tries = 0;"
    f"while (!try_wait(barrier, 0)) if (++tries > n) __trap(); {READS}",
    "sleeps_in_between": f"LOAD; while (!try_wait(barrier, 0)) __nanosleep(20); {READS}",
    "does_without": f"LOAD; if (test_wait(barrier, 0)) {{ {READS} }} else y[i] = x[i];",
    "returns_from_both_ways": "LOAD; if (!try_wait(barrier, 0)) { WAIT(barrier, 0);"
    f" y[i] = part[i] + 1; return; }} {READS}",
    "waits_for_room": STAGES.format(f"while (!try_wait({PARITY})) {{}}"),
    "waits_for_two": "LOAD; LOADS(1, 1); WAIT(barrier, 0); WAIT(barrier + 8, 0);"
    " y[i] = part[i] + part[256 + i];",
    "asks_two_before_it_waits": "LOAD; LOADS(1, 1); const bool a = try_wait(barrier, 0), "
    "b = try_wait(barrier + 8, 0); if (!a) WAIT(barrier, 0); y[i] = part[i];"
    "if (!b) WAIT(barrier + 8, 0); y[256 + i] = part[256 + i];",
    "waits_until_all_know": f"LOAD; while (!__all_sync(~0u, try_wait(barrier, 0))) {{}} {READS}",
    "keeps_the_answer": "LOAD; for (bool over = false; !over;) over = try_wait(barrier, 0);"
    + READS,
    "waits_for_nothing_in_particular": "while (!try_wait(barrier, 0)) {}",
    "waits_in_a_function": f"LOAD; wait(barrier); {READS}",
}
WRONG: Mapping[str, str] = {
    "throws_it_away": f"LOAD; try_wait(barrier, 0); {READS}",
    "tests_and_throws_it_away": f"LOAD; test_wait(barrier, 0); {READS}",
    "asks_within_a_time_and_goes_on": f"LOAD; try_within(barrier, 0); {READS}",
    "throws_it_away_at_each_stage": STAGES.format(
        f"try_wait({PARITY}); y[256 * t + i] = part[256 * k + i];"
    ),
    "adds_nothing_of_it": "LOAD; y[i] = part[i] + 0.0f * try_wait(barrier, 0);",
    "writes_it_down": f"LOAD; const bool over = try_wait(barrier, 0); {READS} y[n] = over;",
    "writes_where_it_is_not_over": f"LOAD; if (!try_wait(barrier, 0)) y[n] = 1; {READS}",
    "writes_so_at_each_stage": STAGES.format(
        f"if (!try_wait({PARITY})) y[n + t] = 2; y[256 * t + i] = part[256 * k + i];"
    ),
    "asks_twice": f"LOAD; if (!try_wait(barrier, 0)) try_wait(barrier, 0); {READS}",
    "sleeps_once": f"LOAD; if (!try_wait(barrier, 0)) __nanosleep(100); {READS}",
}
BODIES = HONEST | WRONG
SOURCE = (
    "".join(
        f"""
__device__ __forceinline__ bool {name}(unsigned barrier, unsigned parity) {{
    unsigned over;
    asm volatile("{{ .reg .pred p; mbarrier.{how} p, [%1], %2{limit}; selp.u32 %0, 1, 0, p; }}"
                 : "=r"(over) : "r"(barrier), "r"(parity) : "memory");
    return over;
}}
"""
        for name, how, limit in (
            ("try_wait", "try_wait.parity.shared::cta.b64", ""),
            ("test_wait", "test_wait.parity.shared::cta.b64", ""),
            ("try_within", "try_wait.parity.shared::cta.b64", ", 1000"),
        )
    )
    + """
__device__ __noinline__ void wait(unsigned barrier) { while (!try_wait(barrier, 0)) {} }
__device__ __forceinline__ void load(unsigned at, unsigned barrier, const float* x) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%1], 1024;\\n"
                 "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%2], 1024, [%1];" :: "r"(at), "r"(barrier), "l"(x) : "memory");
}
#define WAIT(b, parity) while (!try_wait(b, parity)) {}
#define LOADS(k, t) if (i == 0) load(at + 1024 * (k), barrier + 8 * (k), x + 256 * (t))
#define LOAD LOADS(0, 0)
"""
    + "".join(
        f"""
extern "C" __global__ void {name}(const float* x, float* y, int n) {{
    __shared__ __align__(128) float stages[4][256];
    __shared__ unsigned long long barriers[4];
    __shared__ volatile int told;
    const unsigned at = __cvta_generic_to_shared(stages);
    const unsigned barrier = __cvta_generic_to_shared(barriers);
    volatile float* part = stages[0];
    const int i = threadIdx.x;
    if (i < 4)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier + 8 * i) : "memory");
    told = 1;
    __syncthreads();
    {body}
}}
"""
        for name, body in BODIES.items()
    )
)


@pytest.fixture(scope="module", params=["sm_90a", "sm_100a"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the kernels as k.cubin and k.ptx."""
    if not (shutil.which("nvcc") and shutil.which("g++")):
        pytest.skip("no nvcc with a g++ here")
    folder = tmp_path_factory.mktemp("asked")
    (folder / "k.cu").write_text(SOURCE, encoding="utf-8")
    command = ["nvcc", f"-arch={request.param}", "-cubin", "k.cu", "-o", "k.cubin", "--keep"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


def tiers(built: Path, name: str) -> set[str]:
    """Of what is said of a kernel's questions, as if it were launched alone."""
    code = MachineCode(
        (built / "k.cubin").read_bytes(), frozenset({name}), (built / "k.ptx").read_text("utf-8")
    )
    return {each.tier for each in findings(code, None) if "barrier's phase" in each.reason}


@pytest.mark.parametrize("name", HONEST)
def test_who_asks_again_or_does_without_is_not_stopped(name: str, built: Path) -> None:
    assert not tiers(built, name)


@pytest.mark.parametrize("name", WRONG)
def test_who_goes_on_whatever_the_answer_is_is_stopped(name: str, built: Path) -> None:
    assert tiers(built, name) == {"block"}
