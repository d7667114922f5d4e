"""The static screen of CUDA sources."""

from __future__ import annotations

import pytest

from kernelwright.runners.screens.source import static_screen

KERNEL = """\
#include <cuda_fp16.h>
__device__ float twice(float v) {{ return v + v; }}
extern "C" __global__ void k(const float* x, float* y, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = twice(x[i]);
  {line}
}}
"""
HOST = """\
#include <cstdio>
#include <fstream>
void run(float* x, float* y, int n) {
  k<<<n / 256, 256>>>(x, y, n);
  cudaDeviceSynchronize();
  std::ofstream("log") << system("date");
}
"""


def test_an_ordinary_kernel_passes() -> None:
    assert static_screen(KERNEL.format(line=""), "cuda").outcome == "passed"


def test_host_code_beside_a_kernel_does_not_count_since_it_never_runs() -> None:
    assert static_screen(KERNEL.format(line="") + HOST, "cuda").outcome == "passed"


def test_a_launch_from_the_device_is_refused() -> None:
    result = static_screen(KERNEL.format(line="cudaLaunchDeviceV2(y, 0);"), "cuda")
    assert result.outcome == "failed"
    assert "line 6: `cudaLaunchDeviceV2` launches kernels on its own" in result.message


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('asm volatile("trap;");', "`trap` (in asm) may stop everything"),
        ('asm(".global .align 4 .u32 c;");', "`c` (in asm) is kept from one launch to the next"),
        ('asm(".visible .global .u64 c;");', "`c` (in asm) is kept from one launch to the next"),
        ('printf("%d", n);', "`printf` prints"),
        ("__nanosleep(100);", "`__nanosleep` waits"),
        ("long long t = clock64(); y[0] = t;", "`clock64` reads a clock"),
        ("int t = clock(); y[0] = t;", "`clock` reads a clock"),
        ("__trap();", "`__trap` may stop everything on the GPU"),
        ("void* p = malloc(8); free(p);", "`malloc` allocates on the device's heap"),
        ("y[i] = __expf(x[i]);", "`__expf` approximates"),
        ("__half h = __float2half(x[i]);", "`__half` computes in a narrow type"),
    ],
)
def test_what_should_be_known_of_a_kernel_is_noted_with_its_line(line: str, reason: str) -> None:
    result = static_screen(KERNEL.format(line=line), "cuda")
    assert result.outcome == "note"
    assert f"line 6: {reason}" in result.message


def test_names_of_its_own_are_not_noted() -> None:
    source = KERNEL.format(line="float half = 0.5f; y[i] *= half; // clock64(), printf")
    assert static_screen(source, "cuda").outcome == "passed"


@pytest.mark.parametrize(
    "text", ["ld.global.nc.f32 %0, [%1];", "st.global.cs.f32 [%0], %1;", "prefetch.global.L2 [%0];"]
)
def test_an_access_in_assembly_is_no_variable_that_is_kept(text: str) -> None:
    assert "is kept" not in static_screen(KERNEL.format(line=f'asm("{text}");'), "cuda").message
