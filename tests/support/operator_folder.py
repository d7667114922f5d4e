"""A winner for an operator of PyTorch as a folder, its kernel compiled by hand."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from kernelwright.deploy.calls import key_and_tensors
from kernelwright.deploy.host_code import processor

CUBES = """#include <cmath>
extern "C" void call(void** p) {
    const float* x = *(const float**)p[0];
    float* out = *(float**)p[1];
    for (int i = 0; i < 8; ++i) {
        float sum = %s;
        for (int k = 0; k < 64; ++k) { float a = std::fabs(x[i * 64 + k]); sum += a * a * a; }
        out[i] = std::cbrt(sum);
    }
}
"""


def cubes(folder: Path, torch: Any, start: str = "0") -> Path:
    """`linalg_vector_norm` of order 3 over the rows of 8 x 64 numbers. `start`: what sums begin
    with, so that a wrong one can be made."""
    source = CUBES % start
    call: Callable[[Any], Any] = lambda x: torch.linalg.vector_norm(x, 3, dim=1)  # noqa: E731
    return operator_folder(
        folder, torch, "aten::linalg_vector_norm", source, call, torch.ones(8, 64)
    )


def operator_folder(
    folder: Path, torch: Any, operator: str, source: str, call: Callable[[Any], Any], given: Any
) -> Path:
    """A folder whose C function `call` stands for the one operator that `call(given)` is."""
    folder.mkdir(parents=True)
    (folder / "k.cpp").write_text(source)
    library = folder / "k.so"
    subprocess.run(["g++", "-O2", "-shared", "-fPIC", "-o", library, folder / "k.cpp"], check=True)
    key, made = _call(torch, operator, call, given)
    case: Mapping[str, Any] = {
        "label": "o0",
        "key": key,
        "made": [
            {"dtype": str(made.dtype)[6:], "shape": made.shape, "strides": made.stride()},
        ],
        "buffers": {
            "x": {"kind": "input", "number": 0, "align": 16},
            "out": {"kind": "output", "number": 0},
        },
        "steps": [
            {
                "file": "k.so",
                "entry": "call",
                "parameters": [{"buffer": "x"}, {"buffer": "out"}],
            }
        ],
    }
    digest = hashlib.sha256(library.read_bytes()).hexdigest()
    told = {"format": 1, "operator": operator, "device": "cpu", "target": processor()}
    told |= {"files": {"k.so": digest}, "cases": [case]}
    (folder / "operator.json").write_text(json.dumps(told))
    return folder


def _call(torch: Any, operator: str, call: Callable[[Any], Any], given: Any) -> tuple[Any, Any]:
    from torch.utils._python_dispatch import TorchDispatchMode  # pyright: ignore

    found = dict[str, Any]()

    class Look(TorchDispatchMode):  # pyright: ignore
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None):
            found[func._schema.name] = key_and_tensors(args, kwargs or {}, torch.Tensor)[0]
            return func(*args, **(kwargs or {}))

    with Look():
        made = call(given)
    return found[operator.partition(".")[0]], made
