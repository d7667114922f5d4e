"""Looking through a tree finds what Python's own way of looking finds, in its order."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from triton_moves import SPECS

from kernelwright.search.moves.triton.parts.nodes import walk

TEXTS = {name: spec["kernel"]["source_code"] for name, spec in SPECS.items()}
TEXTS["this file"] = Path(__file__).read_text(encoding="utf-8")
TEXTS["words of all kinds"] = """
import os.path as p
from . import a as b
@f
async def g(x: int, /, *y, z=1, **k) -> None:
    global c
    async with m as n, o: await q
    try: del x[1:2, ...]
    except* (A, B) as e: raise e from None
    match x:
        case {"k": [1, *rest], **more} | C(d=None) as w if (v := lambda t: t): f"{x!r:>{z}}"
    return {**k, 1: [i async for i in y if not -i < 2 <= 3]}
"""


@pytest.mark.parametrize("name", TEXTS)
def test_all_is_met_but_whether_names_are_read_or_written(name: str) -> None:
    tree = ast.parse(TEXTS[name])
    assert walk(tree) == [n for n in ast.walk(tree) if not isinstance(n, ast.expr_context)]
