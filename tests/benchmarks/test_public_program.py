"""A public training script's whole way: how losses are compared, and what it is given to learn."""

from __future__ import annotations

import argparse
import pickle
import subprocess
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

LOSSES = Path(__file__).parents[2] / "benchmarks" / "kernels" / "recorded" / "losses.py"


@pytest.mark.parametrize(
    ("other", "status"),
    [("loss 2.01, mfu 7\nloss 1.00", 0), ("loss 2.1\nloss 1.00", 1), ("loss 2.0", 1), ("", 1)],
)
def test_losses_agree_but_for_rounding_whatever_else_is_printed(
    tmp_path: Path, other: str, status: int
) -> None:
    for name, text in (("one", "loss 2.00, mfu 3\nloss 1.00"), ("other", other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "stdout.txt").write_text(text)
    command = [sys.executable, "-S", str(LOSSES), "one", "other"]
    assert subprocess.run(command, cwd=tmp_path, check=False).returncode == status


def test_the_program_is_a_copy_that_learns_a_text_of_ours(
    script: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = script("public_program")
    monkeypatch.setattr(module, "WORK", tmp_path / "work")
    (tmp_path / "checkout" / "data" / "shakespeare_char").mkdir(parents=True)
    (tmp_path / "checkout" / "train.py").write_text("")
    given = argparse.Namespace(checkout=tmp_path / "checkout", device="cpu", iterations=8)
    ran = module.prepared(given)
    data = ran.folder / "data" / "shakespeare_char"
    meta = pickle.loads((data / "meta.pkl").read_bytes())
    train = array("H", (data / "train.bin").read_bytes())
    text = "".join(meta["itos"][number] for number in train[:200])
    assert set(text.replace(".", "").split()[:-1]) <= set(module.WORDS.split())
    assert ran.command[1] == "train.py" and "--max_iters=8" in ran.command
    assert not (tmp_path / "checkout" / "data" / "shakespeare_char" / "train.bin").exists()
