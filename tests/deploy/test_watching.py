"""Operators of processes that a program starts: those of workers are written down too."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from kernelwright.analysis.programs.operators import operator_report, operators_text
from kernelwright.deploy.watching import FOLDER, ROWS
from kernelwright.runners.recording.operators.python_side import before_others
from kernelwright.runners.recording.operators.seen import operators_of

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
WORKERS = """
import multiprocessing, os, torch

torch.set_num_threads(1)
x = torch.ones(4)
for _ in range(40):
    x.tanh()


def work():
    for _ in range(50):
        x.exp()


one = multiprocessing.get_context("fork").Process(target=work)
one.start()
one.join()
if not os.fork():
    for _ in range(40):
        x.sin()
    os._exit(0)
os.wait()
"""


def test_forked_workers_are_written_down_by_themselves_and_told(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WORKERS)
    variables = before_others({FOLDER: str(tmp_path / "count")})
    command = [sys.executable, "program.py"]
    subprocess.run(command, cwd=tmp_path, env=os.environ | variables, check=True, timeout=100)
    told = [
        {row["operator"]: row["count"] for row in map(json.loads, file.read_text().splitlines())}
        for file in (tmp_path / "count").glob(f"*/{ROWS}")
    ]
    assert {"aten::exp": 50} in told  # a worker of multiprocessing, which ends by `_exit` as well
    assert {"aten::sin": 32} in told  # by `_exit` alone: what came after the last writing is lost
    text = operators_text(operator_report(operators_of(tmp_path / "count"), ["program"]))
    assert "2 other processes called operators" in text
