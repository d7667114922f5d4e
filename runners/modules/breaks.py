"""Where `torch.compile` has to break its graph, by `torch._dynamo.explain`."""

from __future__ import annotations

import os
from typing import Any

from .common.messages import Break, Breaks
from .common.torch_library import load, torch
from .forms.subjects import Loaded

MOST = 20


def breaks_of(loaded: Loaded) -> Breaks:
    """Trace the module with Dynamo (nothing is compiled) and read its reasons."""
    dynamo = load("torch._dynamo")
    dynamo.reset()
    with torch().no_grad():
        told = dynamo.explain(loaded.model)(*loaded.inputs)
    found = tuple(
        Break(reason=_first_line(each.reason), line=_line(each.user_stack))
        for each in told.break_reasons[:MOST]
    )
    dynamo.reset()
    return Breaks(graphs=told.graph_count, found=found)


def _first_line(reason: Any) -> str:
    return str(reason).strip().splitlines()[0][:200] if str(reason).strip() else "no reason given"


def _line(stack: Any) -> str:
    frames = list(stack or ())
    if not frames:
        return ""
    return f"{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}"
