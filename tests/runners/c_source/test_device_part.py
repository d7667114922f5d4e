"""Files that hold more than kernels: what of them is code of the device."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.runners.c_source.device_part import device_part
from kernelwright.runners.toolchains.compilers import nvrtc
from kernelwright.runners.toolchains.compilers.plain_ptx import plain_ptx

HOST = """\
void launch(float* x, int n) { scale<<<n / 256, 256>>>(x, n); }
int main(int argc, char** argv) { std::vector<float> v(1 << 20); printf("done"); }
"""
FILE = """\
#include <iostream>
#include <cstdio>
#include <vector>
#include "helper_of_mine.h"
#include <cuda_fp16.h>
using namespace std;
#define CHECK(call) do { if ((call) != cudaSuccess) exit(1); } while (0)
__device__ __forceinline__ float twice(float v) { return 2 * v; }
constexpr int rounded(int n) { return (n + 31) / 32; }
template <typename T> static T on_the_host(T v) { std::vector<T> w; return v; }
void declared_elsewhere(std::vector<float>& v);
namespace kernels {
__global__ void scale(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = std::max(twice(x[i]), float(rounded(n))) + (n < INT_MAX);
}
}
"""


def test_functions_of_the_host_and_unknown_headers_leave_empty_lines() -> None:
    found = device_part(FILE + HOST, frozenset({"cstdio"}))
    assert len(found.splitlines()) == len((FILE + HOST).splitlines())
    for gone in ("main", "launch", "<<<", "on_the_host", "declared_elsewhere", "helper_of_mine"):
        assert gone not in found, gone
    for kept in ("#include <cstdio>", "twice", "rounded", "namespace kernels", "#define CHECK"):
        assert kept in found, kept


def test_code_of_the_device_alone_stays_as_it_is() -> None:
    source = "struct V { float x; };\n__constant__ float c[4];\n__global__ void k(V* v) {}\n"
    assert device_part(source, frozenset()) == source


@pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")
def test_a_file_with_its_launcher_and_its_headers_compiles_for_reading(tmp_path: Path) -> None:
    made = plain_ptx(FILE + HOST, "kernels::scale", tmp_path, defines={})
    assert isinstance(made, tuple), made
    assert f".entry {made[1]}(" in made[0]


@pytest.mark.skipif(nvrtc.library() is None, reason="needs NVRTC")
def test_what_the_kernel_itself_gets_wrong_is_still_told(tmp_path: Path) -> None:
    made = plain_ptx(
        FILE.replace("twice(x[i])", "thrice(x[i])"), "kernels::scale", tmp_path, defines={}
    )
    assert not isinstance(made, tuple)
    assert "thrice" in made.message and "host" not in made.message
