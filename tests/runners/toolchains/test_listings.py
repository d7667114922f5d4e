"""SASS listings beside cubins, and what `ptxas -v` says of kernels."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.machine_code.cubin import local_bytes
from kernelwright.runners.toolchains.compilers import listings
from kernelwright.runners.toolchains.compilers.listings import disassembler
from kernelwright.runners.toolchains.compilers.ptxas_log import kernel_facts, ptxas_warnings

NVCC = shutil.which("nvcc")
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="no nvcc on PATH")

SOURCE = """
extern "C" __global__ void __launch_bounds__(1024, 2) spills(float* x, int n) {
  float a[100];
  #pragma unroll
  for (int i = 0; i < 100; i++) a[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
  #pragma unroll
  for (int i = 0; i < 100; i++) x[i * 1024 + threadIdx.x] = a[99 - i] * a[i] + n;
}
extern "C" __global__ void plain(float* x) {
  __shared__ float s[64];
  s[threadIdx.x] = x[0];
  __syncthreads();
  x[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a cubin named by its hash, and the compiler's words."""
    folder = tmp_path_factory.mktemp("listing") / "build-1"
    folder.mkdir()
    (folder / "k.cu").write_text(SOURCE, encoding="utf-8")
    flags = ["-arch=sm_90a", "-lineinfo", "-cubin", "-Xptxas", "-v"]
    done = subprocess.run(
        [str(NVCC), *flags, str(folder / "k.cu"), "-o", str(folder / "k.cubin")],
        check=True,
        timeout=120,
        capture_output=True,
        text=True,
    )
    image = (folder / "k.cubin").read_bytes()
    (folder / "k.cubin").rename(folder / f"{hashlib.sha256(image).hexdigest()}.cubin")
    return folder, done.stdout + done.stderr


def listed(folder: Path, **environment: str) -> dict[str, Any] | None:
    """The `sass` module that a build child makes, with its text."""
    script = """
import json, sys
from pathlib import Path
from kernelwright.runners.plans.plan import Module
from kernelwright.runners.toolchains.compilers.listings import sass_modules
folder = Path(sys.argv[1])
(code,) = folder.glob("*.cubin")
cubin = Module(sha256=code.stem, kind="cubin", nbytes=1)
made = sass_modules([cubin], folder).get(code.stem)
print(json.dumps(made and made.model_dump()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def listing(built: tuple[Path, str]) -> str:
    folder, _ = built
    (code,) = folder.glob("*.cubin")
    if disassembler(code.read_bytes()) is None:
        pytest.skip("no nvdisasm: neither Triton nor a toolkit brings one")
    module = listed(folder)
    assert module is not None
    text = (folder / f"{module['sha256']}.sass").read_bytes()
    assert hashlib.sha256(text).hexdigest() == module["sha256"]
    assert (module["kind"], module["of"], module["nbytes"]) == ("sass", code.stem, len(text))
    return text.decode()


@needs_nvcc
def test_a_listing_shows_instructions_with_lines_of_source_and_ptx(listing: str) -> None:
    assert "LDG" in listing and "EXIT" in listing
    assert '//## File "k.cu", line 5' in listing, "without the folder of its build"
    assert '//## File ".nv_debug_ptx_txt", line' in listing


@needs_nvcc
def test_spills_in_machine_code_are_those_that_the_assembler_reports(
    built: tuple[Path, str],
) -> None:
    told = {name: facts.spill_bytes for name, facts in kernel_facts(built[1]).items()}
    (code,) = built[0].glob("*.cubin")
    assert local_bytes(code.read_bytes()) == told
    assert told["spills"]


@needs_nvcc
def test_without_a_disassembler_there_is_no_listing(
    built: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listings, "TOOL", "nvdisasm-that-is-not-there")
    (code,) = built[0].glob("*.cubin")
    assert disassembler(code.read_bytes()) is None


@needs_nvcc
def test_what_is_no_cubin_has_no_listing(tmp_path: Path) -> None:
    (tmp_path / "0.cubin").write_bytes(b"\x7fELF" + bytes(100))
    assert listed(tmp_path) is None


def test_the_assembler_s_words_become_facts_of_each_kernel() -> None:
    log = """
ptxas info    : 34 bytes gmem
ptxas info    : Compiling entry function '_Z1tIdEvPT_' for 'sm_90a'
ptxas info    : Function properties for _Z1tIdEvPT_
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
ptxas info    : Compile time = 6.687 ms
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 32 bytes cumulative stack size, 256 bytes smem
ptxas info    : Function properties for _Z6helper
    0 bytes stack frame, 4 bytes spill stores, 0 bytes spill loads
"""
    facts = kernel_facts(log)
    assert list(facts) == ["_Z1tIdEvPT_", "k"]
    assert (facts["_Z1tIdEvPT_"].registers, facts["_Z1tIdEvPT_"].static_shared) == (8, 0)
    k = facts["k"]
    assert (k.registers, k.spill_bytes, k.stack_bytes, k.static_shared) == (24, 32, 32, 256)


def test_warnings_and_foreseen_losses_are_told_once() -> None:
    log = """
ptxas warning : For profile sm_90a adjusting per thread register count of 20 to lower bound of 24
ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized
"""
    found = ptxas_warnings(log)
    assert [line.split(":")[0].strip() for line in found] == ["ptxas warning", "ptxas info"]
