"""A module as a program: it says its time, and its outputs are compared within a tolerance."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernelwright.runners.modules.as_program import alike, main

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
MODEL = """
import torch


class Scaled(torch.nn.Module):
    def __init__(self, by=2.0):
        super().__init__()
        self.by = by

    def forward(self, x):
        return x * self.by, x.argmax()
"""


def test_a_module_is_called_and_other_outputs_are_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", sys.path[:])  # the model's folder is put there
    (tmp_path / "scaled.py").write_text(MODEL)

    def outputs(name: str, by: float) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        init = f'{{"by": {by}}}'
        words = ["--class", "Scaled", "--init", init, "--input", "float32[4,8]", "--calls", "2"]
        file = str(folder / "outputs.pt")
        assert main([str(tmp_path / "scaled.py"), *words, "--outputs", file]) == 0
        return folder

    one, near, other = outputs("one", 2.0), outputs("near", 2.00001), outputs("other", 2.1)
    assert len(re.findall(r"^call [0-9.]+ ms$", capsys.readouterr().out, re.MULTILINE)) == 3
    assert alike(one, near) and not alike(one, other) and not alike(one, tmp_path)
    assert main(["--compare", str(one), str(near)]) == 0
    assert main(["--compare", str(one), str(other)]) == 1
