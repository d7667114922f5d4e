"""Occupancy, compared with NVIDIA's own header where a CUDA toolkit is installed."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from kernelwright.analysis.occupancy import occupancy
from kernelwright.runners.model import KernelFacts
from kernelwright.runners.specs.devices import PROFILES, DeviceFacts

H100 = PROFILES[0][0]
PROGRAM = """\
#include <cstdio>
#include <cstring>
#include <cstdlib>
#include <cuda_occupancy.h>
int main() {
  int major, minor, perSM, perBlock, threadsSM, regs, threads; size_t st, dyn;
  while (scanf("%d %d %d %d %d %d %d %zu %zu", &major, &minor, &perSM, &perBlock, &threadsSM,
               &regs, &threads, &st, &dyn) == 9) {
    cudaOccDeviceProp p; memset(&p, 0, sizeof p);
    p.computeMajor = major; p.computeMinor = minor; p.maxThreadsPerBlock = 1024;
    p.maxThreadsPerMultiprocessor = threadsSM; p.regsPerBlock = 65536;
    p.regsPerMultiprocessor = 65536; p.warpSize = 32; p.sharedMemPerBlock = 49152;
    p.sharedMemPerMultiprocessor = perSM; p.numSms = 1;
    p.sharedMemPerBlockOptin = perBlock; p.reservedSharedMemPerBlock = major >= 8 ? 1024 : 0;
    cudaOccFuncAttributes a; memset(&a, 0, sizeof a);
    a.maxThreadsPerBlock = 1024; a.numRegs = regs; a.sharedSizeBytes = st;
    a.partitionedGCConfig = PARTITIONED_GC_OFF; a.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    a.maxDynamicSharedSizeBytes = dyn; a.numBlockBarriers = 1;
    cudaOccDeviceState s; s.cacheConfig = CACHE_PREFER_NONE; s.carveoutConfig = -1;
    cudaOccResult r; memset(&r, 0, sizeof r);
    cudaOccMaxActiveBlocksPerMultiprocessor(&r, &p, &a, &s, threads, dyn);
    printf("%d\\n", r.activeBlocksPerMultiprocessor);
  }
}
"""


def facts(registers: int | None, threads: int | None, static: int, dynamic: int) -> KernelFacts:
    return KernelFacts(
        entry="k",
        registers=registers,
        threads=threads,
        static_shared=static,
        dynamic_shared=dynamic,
    )


def test_a_small_kernel_fills_a_multiprocessor_with_threads() -> None:
    found = occupancy(facts(16, 256, 0, 0), H100)
    assert found is not None and (found.blocks, found.share) == (8, 1.0)
    assert found.describe().startswith("k: 8 blocks a multiprocessor, 100% of its warps")


def test_a_line_names_the_shapes_and_one_block_is_no_plural() -> None:
    kernel = facts(168, 384, 0, 0).model_copy(update={"shapes": ("large", "odd")})
    found = occupancy(kernel, H100)
    assert found is not None
    assert found.describe().startswith("k (large, odd): 1 block a multiprocessor")


def test_registers_keep_blocks_out_in_units_of_256_a_warp() -> None:
    found = occupancy(facts(168, 384, 0, 0), H100)
    assert found is not None and (found.blocks, found.limited_by) == (1, "registers")


def test_a_block_that_asks_for_more_shared_memory_than_there_is_does_not_fit() -> None:
    found = occupancy(facts(32, 128, 0, 232449), H100)
    assert found is not None and found.blocks == 0 and "no block fits" in found.describe()


def test_without_registers_or_block_size_nothing_is_claimed() -> None:
    assert occupancy(facts(None, 128, 0, 0), H100) is None
    assert occupancy(facts(32, None, 0, 0), H100) is None


def test_a_thousand_kernels_fit_as_nvidia_says(tmp_path: Path) -> None:
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("no CUDA toolkit here: its header cuda_occupancy.h is what we compare with")
    source, binary = tmp_path / "occupancy.cpp", tmp_path / "occupancy"
    source.write_text(PROGRAM)
    subprocess.run([nvcc, "-x", "c++", "-w", source, "-o", binary], check=True)
    rng, cases = random.Random(5), list[tuple[DeviceFacts, KernelFacts]]()
    devices = [facts for facts, _ in PROFILES]
    for _ in range(1000):
        device = rng.choice(devices)
        threads = rng.choice([32, 64, 96, 128, 160, 256, 384, 512, 1000, 1024])
        registers = rng.randint(16, min(255, 65536 // (threads + 127 & ~127)))
        static, dynamic = rng.choice([0, 16, 4096, 30000]), rng.choice([0, 100, 49152, 65536])
        cases.append((device, facts(registers, threads, static, dynamic)))
    said = subprocess.run(
        [binary], input="\n".join(_line(*c) for c in cases), capture_output=True, text=True
    )
    ours = [found.blocks for c in cases if (found := occupancy(c[1], c[0])) is not None]
    assert ours == [int(line) for line in said.stdout.split()]


def _line(device: DeviceFacts, kernel: KernelFacts) -> str:
    major, minor = divmod(device.capability, 10)
    return (
        f"{major} {minor} {device.shared_per_sm} {device.shared_per_block} "
        f"{device.threads_per_sm} {kernel.registers} {kernel.threads} {kernel.static_shared} "
        f"{kernel.dynamic_shared}"
    )
