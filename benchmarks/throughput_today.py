"""One evaluation as people do it today, in a process of its own; `eval_throughput.py` runs it.

Usage: python benchmarks/throughput_today.py triton|cuda SPEC.json POINT.json
Builds one point, compares its output with the library's, times it with `do_bench`, and prints
seconds by stage as JSON. `cuda` goes through `torch.utils.cpp_extension.load_inline`.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BINDING = """\
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
void run(torch::Tensor A, torch::Tensor B, torch::Tensor C) {
    const int M = A.size(0), K = A.size(1), N = B.size(1);
    const dim3 grid((N + BN - 1) / BN, (M + BM - 1) / BM);
    sgemm<<<grid, (BM / TM) * (BN / TN), 0, c10::cuda::getCurrentCUDAStream()>>>(
        A.data_ptr<float>(), B.data_ptr<float>(), C.data_ptr<float>(), M, N, K);
}
"""


def main() -> None:
    """Evaluate one point and print where the time went."""
    kind, spec, point = sys.argv[1], *(json.loads(Path(p).read_text()) for p in sys.argv[2:4])
    seconds, last = dict[str, float](), time.monotonic()

    def lap(name: str) -> None:
        nonlocal last
        now = time.monotonic()
        seconds[name], last = round(now - last, 3), now

    torch: Any = importlib.import_module("torch")
    testing: Any = importlib.import_module("triton.testing")
    lap("import torch")
    size = spec["workloads"][0]["symbols"]["M"]
    dtype = torch.float16 if kind == "triton" else torch.float32
    a, b = (torch.randn(size, size, device="cuda", dtype=dtype) for _ in range(2))
    out = torch.empty(size, size, device="cuda", dtype=dtype)
    torch.cuda.synchronize()
    lap("inputs")
    with tempfile.TemporaryDirectory() as folder:
        make = _triton if kind == "triton" else _cuda
        run = make(spec["kernel"]["source_code"], point, Path(folder), a, b, out)
        run()
        torch.cuda.synchronize()
        lap("build and first run")
        right = torch.allclose(out, a @ b, rtol=1e-2, atol=1e-1)
        lap("allclose")
        ms = testing.do_bench(run)
        lap("do_bench")
    print(json.dumps({"right": right, "ms": ms, "seconds": seconds}))


def _triton(
    source: str, point: dict[str, int], folder: Path, a: Any, b: Any, c: Any
) -> Callable[[], Any]:
    (folder / "candidate.py").write_text(source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("candidate", folder / "candidate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    size = a.shape[0]
    tiles = -(-size // point["BLOCK_M"]) * -(-size // point["BLOCK_N"])
    kernel = module.matmul_kernel[(tiles,)]
    sizes = (size, size, size, size, 1, size, 1, size, 1)
    return lambda: kernel(a, b, c, *sizes, **point)


def _cuda(
    source: str, point: dict[str, int], folder: Path, a: Any, b: Any, c: Any
) -> Callable[[], Any]:
    extension: Any = importlib.import_module("torch.utils.cpp_extension")
    module = extension.load_inline(
        "candidate",
        cpp_sources="void run(torch::Tensor A, torch::Tensor B, torch::Tensor C);",
        cuda_sources=source + BINDING,
        functions=["run"],
        extra_cuda_cflags=["-O3", *(f"-D{name}={value}" for name, value in point.items())],
        build_directory=str(folder),
    )
    return lambda: module.run(a, b, c)


if __name__ == "__main__":
    main()
