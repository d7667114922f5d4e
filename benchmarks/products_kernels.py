"""Plain products of matrices in many shapes, with what torch is asked for the same work.

SEEN: settings of the schedules may be chosen by what these take; the last four were held out until
the rule that chooses tiles was fitted to what they took on an H200. HELD_OUT: other spellings and
shapes, of which claims may be made; so are most of `products_spelled.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import schedules_kernels
from products_spelled import SEEN_SINCE, SPELLED
from schedules_corpus import Searched, kernels_of

_AT = (
    "int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;"
    " if (i >= m || j >= n) return;"
)
_K = "float s = 0; for (int q = 0; q < k; ++q)"
CELLS = {"grid": ["cdiv(n, 16)", "cdiv(m, 16)"], "block": [16, 16]}
SMALLEST = 64
"""of sizes of a domain"""


@dataclass(frozen=True)
class Product:
    """A kernel `f(a, b, [w,] c, m, n, k)` in float32."""

    body: str
    sizes: tuple[int, int, int]
    """m, n and k of what is timed"""
    left: tuple[str, ...] = ("m", "k")
    right: tuple[str, ...] = ("k", "n")
    out: tuple[str, ...] = ("m", "n")
    launch: Mapping[str, Any] = field(default_factory=lambda: dict(CELLS))
    torch: str = "a @ b"
    means: str = "a @ b"
    """in numpy"""
    bias: bool = False
    batch: int = 1

    @property
    def flops(self) -> int:
        """Of one call: an addition and a multiplication for each term."""
        m, n, k = self.sizes
        return 2 * m * n * k * self.batch

    def spec(self, name: str) -> dict[str, Any]:
        """As a spec in JSON."""
        given = ["a", "b", *(["w"] if self.bias else [])]
        pointers = ", ".join([*(f"const float* {each}" for each in given), "float* c"])
        shapes = {"a": self.left, "b": self.right, "w": ("n",)}
        arrays = [
            {"name": each, "role": "input", "dtype": "float32", "shape": list(shapes[each])}
            for each in given
        ]
        arrays.append({"name": "c", "role": "output", "dtype": "float32", "shape": list(self.out)})
        scalars = [{"name": n, "role": "scalar", "dtype": "int32", "value": n} for n in "mnk"]
        sizes = dict(zip("mnk", self.sizes, strict=True))
        return {
            "name": name,
            "kernel": {
                "kernel_type": "cuda",
                "source_code": f'extern "C" __global__ void f({pointers}, int m, int n, int k) '
                f"{{ {self.body} }}",
                "metadata": {"kernel_name": "f"},
                "launch": dict(self.launch),
            },
            "io": {"arguments": [*arrays, *scalars]},
            "symbols": {n: {"min": SMALLEST, "max": max(s, 512)} for n, s in sizes.items()},
            "workloads": [{"name": "main", "symbols": sizes}],
            "reference": {
                "source_code": f"def reference({', '.join(given)}, **sizes):\n"
                f"    return {self.means}\n"
            },
        }


_PLAIN = f"{_AT} {_K} s += a[i * k + q] * b[q * n + j]; c[i * n + j] = s;"
_BY_ROWS = (
    f"{_AT} const float* u = a + (size_t)i * k; const float* v = b + (size_t)j * k; {_K}"
    " s += u[q] * v[q]; c[(size_t)i * n + j] = s;"
)
SEEN: Mapping[str, Product] = {
    "square, 1024": Product(_PLAIN, (1024, 1024, 1024)),
    "square, 2048": Product(_PLAIN, (2048, 2048, 2048)),
    "long sums": Product(
        _BY_ROWS, (512, 512, 8192), right=("n", "k"), torch="a @ b.t()", means="a @ b.T"
    ),
    "wide, the first factor transposed": Product(
        f"{_AT} {_K} s += a[q * m + i] * b[q * n + j]; c[i * n + j] = s;",
        (256, 8192, 1024),
        left=("k", "m"),
        torch="a.t() @ b",
        means="a.T @ b",
    ),
    "short sums": Product(_PLAIN, (4096, 2048, 64)),
    "a batch": Product(
        "int j = blockIdx.x * 16 + threadIdx.x, i = blockIdx.y * 16 + threadIdx.y; if (i >= m ||"
        " j >= n) return; a += (size_t)blockIdx.z * m * k; b += (size_t)blockIdx.z * k * n;"
        f" {_K} s += a[i * k + q] * b[q * n + j]; c[((size_t)blockIdx.z * m + i) * n + j] = s;",
        (256, 256, 256),
        ("64", "m", "k"),
        ("64", "k", "n"),
        ("64", "m", "n"),
        {"grid": ["cdiv(n, 16)", "cdiv(m, 16)", 64], "block": [16, 16]},
        batch=64,
    ),
    "a bias and what is positive": Product(
        f"{_AT} const float* u = a + i * k; const float* v = b + j * k; float s = w[j]; for (int q"
        " = 0; q < k; ++q) s += *u++ * *v++; c[i * n + j] = s > 0 ? s : 0;",
        (3072, 768, 768),
        right=("n", "k"),
        torch="torch.relu(torch.addmm(w, a, b.t()))",
        means="np.maximum(a @ b.T + w, 0)",
        bias=True,
    ),
}
HELD_OUT: Mapping[str, Product] = {
    "tall, by a flat index": Product(
        "int e = blockIdx.x * blockDim.x + threadIdx.x; if (e >= m * n) return;"
        f" int i = e / n, j = e - i * n; {_K} s = fmaf(a[i * k + q], b[q * n + j], s); c[e] = s;",
        (8192, 256, 512),
        launch={"grid": ["cdiv(m * n, 256)"], "block": [256]},
    ),
    "odd sizes": Product(_PLAIN, (1023, 1025, 1021)),
}
HALVES = """\
import torch
import triton
import triton.language as tl


@triton.jit
def f(a, b, c, m, n, k, SIDE: tl.constexpr):
    i = tl.program_id(1) * SIDE + tl.arange(0, SIDE)[:, None]
    j = tl.program_id(0) * SIDE + tl.arange(0, SIDE)[None, :]
    total = tl.zeros((SIDE, SIDE), dtype=tl.float32)
    for start in range(0, k, SIDE):
        q = start + tl.arange(0, SIDE)
        left = tl.load(a + i * k + q[None, :], mask=(i < m) & (q[None, :] < k), other=0.0)
        right = tl.load(b + j * k + q[:, None], mask=(j < n) & (q[:, None] < k), other=0.0)
        total += tl.dot(left, right)
    tl.store(c + i * n + j, total.to(tl.float16), mask=(i < m) & (j < n))
"""
"""a product of halves by small tiles: much faster than one by sums, so that it is timed soon"""


@dataclass(frozen=True)
class Timed:
    """A kernel with what it is worth."""

    searched: Searched
    flops: int


def timed_kernels() -> list[Timed]:
    """The products of this file and those that other corpora have, what is seen first."""
    found = [
        Timed(Searched(name, "products", kind, _with_numpy(each), each.torch), each.flops)
        for kind, products in (("seen", SEEN), ("held out", HELD_OUT))
        for name, each in products.items()
    ]
    found += [
        Timed(Searched(name, "products", kind, each.spec("f"), each.torch), each.flops)
        for name, each in SPELLED.items()
        for kind in ("seen" if name in SEEN_SINCE else "held out",)
    ]
    known = {each.name: each for each in kernels_of(["schedules"])}
    for name, plain in schedules_kernels.HELD_OUT.items():
        if name.startswith("a product"):
            found.append(Timed(known[name], 2 * plain.rows * plain.cols**2))
    halves = Product("", (2048, 2048, 2048), right=("n", "k"), torch="a @ b.t()", means="a @ b.T")
    found.append(
        Timed(Searched("halves", "products", "seen", _halves(halves), halves.torch), halves.flops)
    )
    return found


def _halves(product: Product) -> dict[str, Any]:
    """In half precision, in Triton."""
    spec = _with_numpy(product)
    for each in spec["io"]["arguments"][:3]:
        each["dtype"] = "float16"
    launch = {"grid": ["cdiv(n, 32)", "cdiv(m, 32)"], "constexprs": {"SIDE": 32}}
    spec["kernel"] |= {"kernel_type": "triton", "source_code": HALVES, "launch": launch}
    return spec


def _with_numpy(product: Product) -> dict[str, Any]:
    spec = product.spec("f")
    spec["reference"]["source_code"] = "import numpy as np\n" + spec["reference"]["source_code"]
    return spec
