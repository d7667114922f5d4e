"""Triton kernels for `lifting.py`, each written here, with numpy that says what it computes, and
rules that spell a kernel anew. The reader was developed on kernels like those of TRITON (and those
of its tests). TRITON_HELD_OUT was written before any of it was lifted; docs/lifting.md tells the
first run.

As a program, with a folder of kernels as modules: their TTIR as JSON on stdout; without a GPU.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from lifting_kernels import ROWS, Array

HEAD = "def f(a, b, y, n, rows, cols, B: tl.constexpr):\n"
IMPORTS = "import triton\nimport triton.language as tl\n\n\n"
PLACE = "tl.program_id(0) * B + tl.arange(0, B)"


@dataclass(frozen=True)
class Block:
    """A kernel over inputs `a` and `b` (rows x cols) and output `y` as large, with blocks of 16."""

    body: str
    """its lines"""
    means: Callable[[Array, Array], Array]
    """the first elements of `y`, from `a` and `b` in float64"""
    grid: tuple[int, ...] = (4,)
    before: str = ""

    @property
    def source(self) -> str:
        """The module."""
        lines = "".join(f"    {line}\n" for line in self.body.strip().splitlines())
        return f"{IMPORTS}{self.before}@triton.jit\n{HEAD}{lines}"


def _softmax(a: Array) -> Array:
    e = np.exp(a - a.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def _places(work: str) -> str:
    return f"i = {PLACE}\nm = i < n\nv = tl.load(a + i, mask=m)\n{work}"


def _row(work: str, other: str = "0.0") -> str:
    return (
        "r = tl.program_id(0)\nc = tl.arange(0, B)\nm = c < cols\n"
        f"v = tl.load(a + r * cols + c, mask=m, other={other})\n{work}"
    )


TRITON = {
    "add": Block(
        _places("tl.store(y + i, v + tl.load(b + i, mask=m), mask=m)"), lambda a, b: a + b
    ),
    "silu": Block(
        _places("tl.store(y + i, v / (1.0 + tl.exp(-v)), mask=m)"),
        lambda a, b: a / (1 + np.exp(-a)),
    ),
    "row_sum": Block(_row("tl.store(y + r, tl.sum(v, 0))"), lambda a, b: a.sum(1), (ROWS,)),
    "softmax": Block(
        _row(
            "e = tl.exp(v - tl.max(v, 0))\n"
            "tl.store(y + r * cols + c, e / tl.sum(e, 0), mask=m)",
            '-float("inf")',
        ),
        lambda a, b: _softmax(a),
        (ROWS,),
    ),
}  # fmt: skip


def _norm(a: Array, b: Array) -> Array:
    scale = np.sqrt(a.var(1, keepdims=True) + 1e-5)
    return (a - a.mean(1, keepdims=True)) / scale * b[0] + b[1]


def _pairs(a: Array, b: Array) -> Array:
    even, odd, angle = a.ravel()[0::2], a.ravel()[1::2], b.ravel()[: a.size // 2]
    made = even * np.cos(angle) - odd * np.sin(angle), even * np.sin(angle) + odd * np.cos(angle)
    return np.stack(made, 1).ravel()


TRITON_HELD_OUT = {
    "leaky": Block(
        _places("tl.store(y + i, tl.where(v > 0, v, 0.01 * v), mask=m)"),
        lambda a, b: np.where(a > 0, a, 0.01 * a),
    ),
    "keep_large": Block(
        _places(
            "w = tl.load(b + i, mask=m)\ntl.store(y + i, tl.where(w > 0.5, v / 0.5, 0.0), mask=m)"
        ),
        lambda a, b: np.where(b > 0.5, a / 0.5, 0),
    ),
    "swish_gate": Block(
        _places("tl.store(y + i, gate(v) * tl.load(b + i, mask=m, other=0.0), mask=m)"),
        lambda a, b: a / (1 + np.exp(-a)) * b,
        before="@triton.jit\ndef gate(v):\n    return v * tl.sigmoid(v)\n\n\n",
    ),
    "bias_of_columns": Block(
        _places("tl.store(y + i, v + tl.load(b + i % cols, mask=m), mask=m)"),
        lambda a, b: a + b[0],
    ),
    "two_axes": Block(
        "i = tl.program_id(0) * B + tl.arange(0, B)[:, None]\n"
        "j = tl.program_id(1) * B + tl.arange(0, B)[None, :]\n"
        "m = (i < rows) & (j < cols)\n"
        "tl.store(y + i * cols + j, tl.load(a + i * cols + j, mask=m) * "
        "tl.load(b + j, mask=j < cols), mask=m)",
        lambda a, b: a * b[0],
        (1, 1),
    ),
    "turned": Block(
        "i = tl.program_id(0) * B + tl.arange(0, B)\nj = tl.program_id(1) * B + tl.arange(0, B)\n"
        "t = tl.load(a + i[:, None] * cols + j[None, :], "
        "mask=(i[:, None] < rows) & (j[None, :] < cols))\n"
        "tl.store(y + j[:, None] * rows + i[None, :], tl.trans(t), "
        "mask=(j[:, None] < cols) & (i[None, :] < rows))",
        lambda a, b: a.T,
        (1, 1),
    ),
    "unit_rows": Block(
        _row("s = tl.rsqrt(tl.sum(v * v, 0) + 1e-6)\ntl.store(y + r * cols + c, v * s, mask=m)"),
        lambda a, b: a / np.sqrt((a * a).sum(1, keepdims=True) + 1e-6),
        (ROWS,),
    ),
    "log_sum": Block(
        _row(
            "t = tl.max(v, 0)\ntl.store(y + r, t + tl.log(tl.sum(tl.exp(v - t), 0)))",
            '-float("inf")',
        ),
        lambda a, b: np.log(np.exp(a).sum(1)),
        (ROWS,),
    ),
    "layer_norm": Block(
        _row(
            "mean = tl.sum(v, 0) / cols\nd = tl.where(m, v - mean, 0.0)\n"
            "scale = 1 / tl.sqrt(tl.sum(d * d, 0) / cols + 1e-5)\n"
            "w = tl.load(b + c, mask=m)\ns = tl.load(b + cols + c, mask=m)\n"
            "tl.store(y + r * cols + c, d * scale * w + s, mask=m)"
        ),
        _norm,
        (ROWS,),
    ),
    "least_place": Block(
        _row("tl.store(y + r, tl.argmin(v, 0).to(tl.float32))", 'float("inf")'),
        lambda a, b: a.argmin(1),
        (ROWS,),
    ),
    "prefixes": Block(
        _row("tl.store(y + r * cols + c, tl.cumsum(v, 0), mask=m)"),
        lambda a, b: a.cumsum(1),
        (ROWS,),
    ),
    "gather_rows": Block(
        "r = tl.program_id(0)\nc = tl.arange(0, B)\n"
        "at = (tl.abs(tl.load(b + r * cols)) * 100).to(tl.int32) % rows\n"
        "tl.store(y + r * cols + c, tl.load(a + at * cols + c, mask=c < cols), mask=c < cols)",
        lambda a, b: a[np.trunc(np.abs(b[:, 0]) * 100).astype(int) % ROWS],
        (ROWS,),
    ),
    "column_sums": Block(
        "c = tl.program_id(0) * B + tl.arange(0, B)\ns = tl.zeros([B], dtype=tl.float32)\n"
        "for r in range(rows):\n    s += tl.load(a + r * cols + c, mask=c < cols, other=0.0)\n"
        "tl.store(y + c, s, mask=c < cols)",
        lambda a, b: a.sum(0),
        (1,),
    ),
    "rows_in_pieces": Block(
        "r = tl.program_id(0)\ns = tl.zeros([B], dtype=tl.float32)\n"
        "for k in range(0, cols, B):\n    c = k + tl.arange(0, B)\n"
        "    s += tl.load(a + r * cols + c, mask=c < cols, other=0.0) * "
        "tl.load(b + r * cols + c, mask=c < cols, other=0.0)\n"
        "tl.store(y + r, tl.sum(s, 0))",
        lambda a, b: (a * b).sum(1),
        (ROWS,),
    ),
    "product_relu": Block(
        "i = tl.program_id(0) * B + tl.arange(0, B)\nj = tl.program_id(1) * B + tl.arange(0, B)\n"
        "k = tl.arange(0, B)\ns = tl.zeros([B, B], dtype=tl.float32)\n"
        "for t in range(0, cols, B):\n"
        "    p = tl.load(a + i[:, None] * cols + t + k[None, :], "
        "mask=(i[:, None] < rows) & (t + k[None, :] < cols), other=0.0)\n"
        "    q = tl.load(b + j[None, :] * cols + t + k[:, None], "
        "mask=(j[None, :] < rows) & (t + k[:, None] < cols), other=0.0)\n"
        "    s += tl.dot(p, q)\n"
        "tl.store(y + i[:, None] * rows + j[None, :], tl.maximum(s, 0.0), "
        "mask=(i[:, None] < rows) & (j[None, :] < rows))",
        lambda a, b: np.maximum(a @ b.T, 0),
        (1, 1),
    ),
    "rotated_pairs": Block(
        f"p = {PLACE}\nm = p < n // 2\neven = tl.load(a + 2 * p, mask=m)\n"
        "odd = tl.load(a + 2 * p + 1, mask=m)\nt = tl.load(b + p, mask=m)\n"
        "tl.store(y + 2 * p, even * tl.cos(t) - odd * tl.sin(t), mask=m)\n"
        "tl.store(y + 2 * p + 1, even * tl.sin(t) + odd * tl.cos(t), mask=m)",
        _pairs,
    ),
    "counted": Block(
        _places("tl.atomic_add(y + tl.where(v > 0, 1, 0), 1.0, mask=m)"),
        lambda a, b: np.array([(a <= 0).sum(), (a > 0).sum()]),
    ),
    "attention_row": Block(
        "r = tl.program_id(0)\nc = tl.arange(0, B)\nj = tl.arange(0, B)\n"
        "q = tl.load(a + r * cols + c, mask=c < cols, other=0.0)\n"
        "m = (j[:, None] < rows) & (c[None, :] < cols)\n"
        "w = tl.load(b + j[:, None] * cols + c[None, :], mask=m, other=0.0)\n"
        's = tl.where(j < rows, tl.sum(q[None, :] * w, 1), -float("inf"))\n'
        "p = tl.exp(s - tl.max(s, 0))\np = p / tl.sum(p, 0)\n"
        "tl.store(y + r * cols + c, tl.sum(p[:, None] * w, 0), mask=c < cols)",
        lambda a, b: _softmax(a @ b.T) @ b,
        (ROWS,),
    ),
}  # fmt: skip


def _first_lines(*lines: str) -> Callable[[str], str]:
    return lambda s: s.replace(HEAD, HEAD + "".join(f"    {line}\n" for line in lines))


def _in_helper(source: str) -> str:
    inner = source.replace("def f(", "def work(")
    return inner + f"\n\n@triton.jit\n{HEAD}    work(a, b, y, n, rows, cols, B)\n"


_ROW = "    r = tl.program_id(0)\n"


def _mask_in_place(source: str, mask: str) -> str:
    line = f"    m = {mask}\n"
    return (
        source.replace(line, "")
        .replace("mask=m", f"mask={mask}")
        .replace("where(m,", f"where({mask},")
        if line in source
        else ""
    )


TRITON_RESPELLINGS: dict[str, Callable[[str], str]] = {
    "axis by name": lambda s: s.replace("program_id(0)", "program_id(axis=0)"),
    "swapped": lambda s: re.sub(
        re.escape(PLACE) + r"(?!\[)", "tl.arange(0, B) + B * tl.program_id(0)", s
    ),
    "wide index": lambda s: s.replace("tl.program_id(0)", "tl.program_id(0).to(tl.int64)"),
    "helper": _in_helper,
    "other name": lambda s: re.sub(r"\btl\b", "lang", s),
    "pointers moved": lambda s: (
        _first_lines("a -= 3", "b += 2")(s).replace("tl.load(a +", "tl.load(a + 3 +").replace(
            "tl.load(b +", "tl.load(b - 2 +")
    ),
    "mask in place": lambda s: _mask_in_place(s, "i < n") or _mask_in_place(s, "c < cols") or s,
    "row pointer": lambda s: (
        s.replace("a + r * cols + c", "row + c").replace(_ROW, f"{_ROW}    row = a + r * cols\n")
        if _ROW in s
        else s
    ),
}  # fmt: skip


def arguments() -> dict[str, str]:
    """The types of what a kernel is given, as Triton writes them."""
    return {
        **dict.fromkeys(("a", "b", "y"), "*fp32"),
        **dict.fromkeys(("n", "rows", "cols"), "i32"),
    }


def main() -> None:
    """TTIR of every module of a folder by its name, or why there is none."""
    made = dict[str, str]()
    for path in sorted(Path(sys.argv[1]).glob("*.py")):
        try:
            made[path.stem] = _ttir(path)
        except Exception as error:  # whatever the compiler says is the answer
            made[path.stem] = f"!{type(error).__name__}: {str(error)[:200]}"
    print(json.dumps(made))


def _ttir(path: Path) -> str:
    ir: Any = importlib.import_module("triton._C.libtriton").ir
    made: Any = importlib.import_module("triton.compiler.compiler")
    sources: Any = importlib.import_module("triton.compiler")
    target: Any = importlib.import_module("triton.backends.compiler").GPUTarget("cuda", 90, 32)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    signature = {**arguments(), "B": "constexpr"}
    source = sources.ASTSource(fn=module.f, signature=signature, constexprs={(6,): 16})
    backend = made.make_backend(target)
    options = backend.parse_options({})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    module_ir = source.make_ir(
        target,
        options,
        backend.get_codegen_implementation(options),
        backend.get_module_map(),
        context,
    )
    return str(backend.make_ttir(module_ir, {}, options, 90))


if __name__ == "__main__":
    main()
