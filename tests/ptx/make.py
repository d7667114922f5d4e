"""Compile `sources/` to the PTX files beside this file: `python tests/ptx/make.py [NAME ...]`.

Needs nvcc (13.0 made what is committed) and Triton (3.6.0), and no GPU. Every file holds one
kernel. Debug sections, which are most of such a text, are kept in those of WITH_DEBUG alone.
"""

from __future__ import annotations

import importlib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SOURCES = HERE / "sources"
ARCH = "sm_90a"
CUDA = {
    "reductions.cu": (
        "block_sum", "warp_sum", "scan", "histogram", "cub_sum", "cub_scan", "cub_sort",
    ),
    "elementwise.cu": (
        "copy4", "strided", "halves", "gelu", "approximate", "doubles", "cases", "calls",
        "pick_local", "collatz", "rows", "stencil", "nested",
    ),
    "tiles.cu": ("transpose", "sgemm", "wmma_gemm", "cp_async_pipeline", "mma_ptx"),
    "hopper.cu": (
        "wgmma_gemm", "bulk_sum", "tma_copy", "cluster_sum", "library_barrier",
    ),
}  # fmt: skip
N, F16, F32, I32 = "i32", "*fp16", "*fp32", "*i32"
MATMUL = {"a": F16, "b": F16, "c": F16, "M": N, "N": N, "K": N}
ATTENTION = {"q": F16, "k": F16, "v": F16, "out": F16, "n": N, "scale": "fp32"}
ROW = {"x": F32, "y": F32, "cols": N}
TRITON: dict[str, tuple[str, dict[str, str], dict[str, int], dict[str, int]]] = {
    "triton_add": ("add", {"x": F32, "y": F32, "out": F32, "n": N}, {"BLOCK": 1024}, {}),
    "triton_softmax": ("softmax", ROW, {"BLOCK": 1024}, {}),
    "triton_online_softmax": ("online_softmax", ROW, {"BLOCK": 512}, {}),
    "triton_layer_norm": (
        "layer_norm",
        {"x": F16, "weight": F16, "bias": F16, "y": F16, "cols": N, "eps": "fp32"},
        {"BLOCK": 512},
        {},
    ),
    "triton_matmul": ("matmul", MATMUL, {"BM": 64, "BN": 64, "BK": 32}, {"num_stages": 3}),
    "triton_matmul_flat": ("matmul", MATMUL, {"BM": 64, "BN": 64, "BK": 32}, {"num_stages": 1}),
    "triton_matmul_mma": ("matmul", MATMUL, {"BM": 32, "BN": 32, "BK": 32}, {"num_stages": 2}),
    "triton_matmul_tf32": (
        "matmul",
        {**MATMUL, "a": F32, "b": F32, "c": F32},
        {"BM": 64, "BN": 32, "BK": 32},
        {"num_stages": 2},
    ),
    "triton_matmul_8_warps": (
        "matmul", MATMUL, {"BM": 128, "BN": 64, "BK": 64}, {"num_stages": 4, "num_warps": 8},
    ),
    "triton_matmul_tma": ("matmul_tma", MATMUL, {"BM": 64, "BN": 64, "BK": 64}, {"num_stages": 3}),
    "triton_attention": (
        "attention", ATTENTION, {"BM": 64, "BN": 32, "D": 64}, {"num_stages": 2},
    ),
    "triton_attention_mma": (
        "attention", ATTENTION, {"BM": 32, "BN": 32, "D": 32}, {"num_stages": 2},
    ),
    "triton_histogram": ("histogram", {"x": I32, "bins": I32, "n": N}, {"BLOCK": 512}, {}),
    "triton_transpose": (
        "transpose", {"x": F32, "y": F32, "rows": N, "cols": N}, {"BLOCK": 32}, {},
    ),
    "triton_scan": ("scan", ROW, {"BLOCK": 512}, {}),
}  # fmt: skip
WITH_DEBUG = {"triton_softmax", "cub_sum", "copy4"}
_SECTION = re.compile(r"\n[ \t]*\.section\b.*", re.DOTALL)


def cuda_ptx(source: str, kernel: str) -> str:
    """PTX of one kernel: every other one is left out by the preprocessor's own means."""
    text = (SOURCES / source).read_text(encoding="utf-8")
    for other in CUDA[source]:
        if other != kernel:
            text = _without(text, other)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / source).write_text(text, encoding="utf-8")
        command = ["nvcc", f"-arch={ARCH}", "-std=c++17", "-lineinfo", "-ptx", source, "-o", "out"]
        subprocess.run(command, cwd=folder, check=True)
        ptx = (Path(folder) / "out").read_text(encoding="utf-8")
        return ptx.replace(f"{Path(folder).resolve()}/", "")


def _without(text: str, kernel: str) -> str:
    """The source with a kernel's lines blank, so that the others keep their numbers."""
    body = re.compile(
        rf'^extern "C" __global__[^{{;]*?\b{kernel}\(.*?^}}$', re.MULTILINE | re.DOTALL
    )
    return body.sub(lambda found: "\n" * found[0].count("\n"), text)


def triton_ptx(name: str) -> str:
    """PTX of a Triton kernel as a launch would have it with sizes that 16 divides."""
    triton: Any = importlib.import_module("triton")
    compiler: Any = importlib.import_module("triton.compiler")
    sys.path.insert(0, str(SOURCES))
    kernels: Any = importlib.import_module("triton_kernels")
    kernel, types, constants, options = TRITON[name]
    for each in dir(kernels):
        found: Any = getattr(kernels, each)
        if isinstance(found, triton.JITFunction):  # no path of this machine in the line table
            found.fn.__code__ = found.fn.__code__.replace(co_filename="triton_kernels.py")
    function: Any = getattr(kernels, kernel)
    names = function.arg_names
    signature = {each: types.get(each, "constexpr") for each in names}
    divisible = {
        (at,): [["tt.divisibility", 16]] for at, each in enumerate(names) if _divides(types, each)
    }
    source = compiler.ASTSource(function, signature, constants, divisible)
    target = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)
    ptx: str = triton.compile(source, target=target, options=options).asm["ptx"]
    return re.sub(r'"[^"\n]*/site-packages/', '"', ptx)


def _divides(types: dict[str, str], argument: str) -> bool:
    return types.get(argument, "").startswith("*") or types.get(argument) == "i32"


def kept(name: str, ptx: str) -> str:
    """The text as it is committed."""
    if name in WITH_DEBUG:
        return ptx
    files = re.findall(r"^[ \t]*\.file\b.*$", ptx, re.MULTILINE)
    body = _SECTION.sub("\n", ptx)
    missing = [line for line in files if line not in body]
    return "\n".join([body.rstrip("\n"), *missing]) + "\n"


def main(names: list[str]) -> None:
    """Make the files of these names, all for none."""
    os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())
    for source, kernels in CUDA.items():
        for kernel in kernels:
            if not names or kernel in names:
                text = kept(kernel, cuda_ptx(source, kernel))
                (HERE / f"{kernel}.ptx").write_text(text, encoding="utf-8")
    for name in TRITON:
        if not names or name in names:
            (HERE / f"{name}.ptx").write_text(kept(name, triton_ptx(name)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
