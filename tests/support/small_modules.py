"""Small PyTorch modules as users write them, and runs of them in processes of their own."""

from __future__ import annotations

from pathlib import Path

from kernelwright.analysis.modules.opportunities import FINDERS, Opportunity
from kernelwright.analysis.modules.opportunities import Found as Looked
from kernelwright.analysis.modules.report import cost_model
from kernelwright.runners.modules.common.messages import Batches, ModuleJob, ModuleSource
from kernelwright.runners.modules.running import Found, run_job

BLOCK = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv = heads, nn.Linear(width, 3 * width)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / math.sqrt(d // self.heads)
        mask = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        return (F.softmax(scores.masked_fill(~mask, float("-inf")), -1) @ v).reshape(b, t, d)


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.norm, self.attention = nn.LayerNorm(width), Attention(width, 2)

    def forward(self, x):
        if float(x[0, 0, 0]) > 1e9:  # the host has to look
            return x
        return x + self.attention(self.norm(x))


def get_inputs():
    return [torch.randn(2, 24, 32)]


def get_init_inputs():
    return []
"""


def run_text(folder: Path, text: str, *phases: str, **given: object) -> Found:
    """A module from the text of its file, on one thread of the CPU."""
    path = folder / "model.py"
    path.write_text(text, encoding="utf-8")
    return run_file(path, *phases, **given)


def run_file(path: Path, *phases: str, **given: object) -> Found:
    """A module from its file; `source`: fields of `ModuleSource`, the rest of `ModuleJob`."""
    source = ModuleSource.model_validate({"path": str(path), **_fields(given.pop("source", {}))})
    fields: dict[str, object] = {
        "source": source, "device": "cpu", "phases": phases, "threads": 1,
        "scratch": str(path.parent / "scratch"), "readable": (str(path.parent),), **given,
    }  # fmt: skip
    return run_job(ModuleJob.model_validate(fields), uuid=None, timeout_s=240.0)


def all_findings(lines: Found) -> tuple[Opportunity, ...]:
    """What finders see in a call, also where it would gain next to nothing: how long an operator
    takes hangs on what else the machine does."""
    cost = cost_model(lines)
    assert cost is not None
    looked_at = Looked(cost, lines.one(Batches))
    return tuple(each for finder in FINDERS for each in finder(looked_at))


def _fields(value: object) -> dict[str, object]:
    assert isinstance(value, dict)
    return {str(k): v for k, v in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
