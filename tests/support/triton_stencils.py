"""A stencil in Triton in several spellings, as moves on rows meet it."""

from __future__ import annotations

from typing import Any

import pytest
from triton_moves import SPECS

from kernelwright.runners.interpreter.runner import interpreter_missing

STENCIL = SPECS["stencil_triton"]["kernel"]["source_code"]
BODY = STENCIL[STENCIL.index("    row = ") : STENCIL.index("\n\ndef stencil(")]
NESTED = STENCIL.replace(
    BODY,
    """\
    # cells of a row
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    begin = tl.program_id(0) * cols  # of the row
    side = (col >= 1) & (cols - 1 > col)
    inner = side & (tl.program_id(0) > 0) & (tl.program_id(0) < rows - 1)
    # above and below first
    mean = tl.load(u + (begin - cols) + col, mask=inner).to(tl.float32)
    mean = 0.25 * (
        tl.load(u + begin - cols + col, mask=inner, other=0.0)  # above
        + tl.load(u + col + begin + cols, mask=inner, other=0.0)
        + tl.load(u + begin + (col - 1), inner, 1.0)
        + tl.load(u + begin + col + 1, mask=inner)
    )
    at = begin + col
    tl.store(out + at, tl.where(inner, mean, tl.load(u + at, mask=col < cols)), mask=col < cols)
""".replace("    mean = tl.load(u + (begin - cols) + col, mask=inner).to(tl.float32)\n", ""),
)
FILLED = STENCIL.replace(
    BODY,
    """\
    row = tl.program_id(0)
    col = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    begin = row * cols
    up = (row > 0) & (col > 0) & (col < cols)
    down = (row < rows - 1) & (col < cols - 1)
    above = tl.load(u + begin - cols + col, mask=up, other=0.0)
    below = tl.load(u + begin + cols + col, mask=down, other=0.0)
    tl.store(out + begin + col, above + below, mask=col < cols)
""",
)
SUMS = """\
def reference(u, **sizes):
    out = u * 0
    out[1:, 1:] += u[:-1, 1:]
    out[:-1, :-1] += u[1:, :-1]
    return out
"""
needs_interpreter = pytest.mark.skipif(
    interpreter_missing() is not None, reason=f"no interpreter: {interpreter_missing()}"
)
FORMS = {
    "plain": (STENCIL, SPECS["stencil_triton"]["reference"]),
    "nested": (NESTED, SPECS["stencil_triton"]["reference"]),
    "filled": (FILLED, {"source_code": SUMS}),
}


def sized(form: str, rows: int, cols: int) -> dict[str, Any]:
    source, reference = FORMS[form]
    data = SPECS["stencil_triton"]
    return data | {
        "kernel": data["kernel"] | {"source_code": source},
        "reference": reference,
        "symbols": {"rows": {"min": rows, "max": rows}, "cols": {"min": cols, "max": cols}},
        "workloads": [{"name": "main", "symbols": {"rows": rows, "cols": cols}}],
    }
