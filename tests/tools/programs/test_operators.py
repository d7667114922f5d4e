"""An operator of PyTorch out of a program and back: recorded, opened, made faster, proved there."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tiers import further

from kernelwright import deploy
from kernelwright.runners.errors import SpecError
from kernelwright.runners.recording.operators.putting import (
    installed_operators,
    roll_back_operators,
    run_with_operators,
)
from kernelwright.runners.recording.operators.seen import SeenOperator
from kernelwright.runners.recording.pairs import Judged
from kernelwright.runners.recording.recording import Program, program_again
from kernelwright.search.session.optimize import Finished, optimize
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.tools.open_kernel import OpenKernelArguments, open_kernel
from kernelwright.tools.open_recorded import OpenRecordedArguments, open_recorded
from kernelwright.tools.programs.operators.exporting import export_winner
from kernelwright.tools.programs.operators.opening import kernel_name
from kernelwright.tools.programs.operators.putting import verified_operator
from kernelwright.tools.record_program import RecordProgramArguments, record_program
from kernelwright.tools.verify_program import VerifyProgramArguments, verify_program

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)
NORM, STEPS = r"norm ([0-9.]+) ms", r"steps ([0-9]+)"
"""what the program says of itself: time in the operator, and what no kernel changes"""
PROGRAM = '''
"""Rows over their norm of order 3, which PyTorch computes slowly; times are the processor's."""
import sys
import time

import torch

torch.set_num_threads(1)
x = torch.randn(64, 1024, generator=torch.Generator().manual_seed(0))
norm = 0.0
for _ in range(60):
    start = time.process_time()
    length = torch.linalg.vector_norm(x, 3, dim=1, keepdim=True)
    norm += time.process_time() - start
    y = (x / length).exp()
print(f"norm {norm * 1e3:.3f} ms", file=sys.stderr)
print("steps 60")
print(f"{float(y.double().sum()):.1f}")
'''


def test_a_program_gets_a_winner_in_an_operators_place_with_proof_and_is_given_back(
    tmp_path: Path, brief_timing: None
) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    with Workbench(tmp_path / "state", [tmp_path]) as bench:
        command = (sys.executable, "program.py")
        told = record_program(
            bench,
            RecordProgramArguments(command=command, recording="r", front="torch", keep=True),
        )
        row = next(k for k in told.kernels if k.name.startswith("aten::linalg_vector_norm"))
        assert (row.kept, row.count) == (True, 60)
        assert row.share > 0 and "float32[64,1024]" in row.name
        drawn = next(k for k in told.kernels if k.name.startswith("aten::randn"))
        assert told.not_kept[drawn.label] == "it is given no tensor"

        label = row.label
        opened = open_recorded(bench, OpenRecordedArguments(recording="r", label=label, to="norm"))
        assert "away from what the program got" in opened.notes[0]
        variant_id = _fastest(bench, Path(opened.spec_path))

        place, winner = tmp_path / "r", tmp_path / "winner"
        export_winner(bench, place, [label], winner, variant_id)
        without = Program((sys.executable, "-c", "print('steps 60'); print('done')"), tmp_path)
        refused = verified_operator(
            without, place, winner, Judged(metric=STEPS), pairs=2, wanted=True
        )
        assert (refused.outcome, refused.installed) == ("never used", False), refused
        assert installed_operators(place) == (None, {})
        asked = VerifyProgramArguments(
            recording="r", label=label, variant_id=variant_id, metric=NORM, pairs=4, install=True
        )
        found = verify_program(bench, asked)
        assert (found.outcome, found.installed, found.used) == ("faster", True, 60), found
        assert found.interval is not None and found.interval[0] > 1
        assert found.predicted is not None and found.predicted > 1
        assert any(note.startswith(f"{label} alone is ") for note in found.notes), found

        assert list(installed_operators(place)[1]) == ["aten::linalg_vector_norm"]
        assert run_with_operators(program_again(place), place) == 0
        with_it = _printed(place)
        assert roll_back_operators(place) == 1
        assert run_with_operators(program_again(place), place) == 0
        assert _printed(place) == _printed(place, "count-output") == with_it


@pytest.mark.parametrize(
    ("operator", "name"),
    [
        ("aten::exp", "aten_exp"),
        ("aten::_softmax", "aten__softmax"),
        ("aten::add.Tensor", "aten_add_tensor"),
    ],
)
def test_a_kernel_is_not_called_as_a_function_of_c_is(operator: str, name: str) -> None:
    seen = SeenOperator("o0", operator, (), (), 1, 1, "", None)
    assert kernel_name(seen) == name


def _fastest(bench: Workbench, spec: Path) -> str:
    settings = Settings.model_validate({"budget_builds": 2})
    with closing(optimize(bench, [spec], settings)) as events:
        (done,) = (event for event in events if isinstance(event, Finished))
    return bench.evaluator.kernel(done.kernel.kernel_id).incumbent


def _printed(place: Path, folder: str = "run/output") -> str:
    """The last line of a run: its result, without times."""
    return (place / folder / "program.stdout").read_text().splitlines()[-1]


SPREADS = """
import torch

torch.set_num_threads(1)
x = torch.randn(16, 96, generator=torch.Generator().manual_seed(0))
for _ in range(3):
    for rows in (x, x[:8].clone()):
        torch.var_mean(rows, 1, correction=1)
    torch.topk(x, 2)
print("done")
"""


@further(
    "tests/tools/programs/test_operators.py::"
    "test_a_program_gets_a_winner_in_an_operators_place_with_proof_and_is_given_back",
    why="an operator of several kernels and shapes, each opened and built",
)
def test_several_kernels_results_and_shapes_of_an_operator_become_one_winner(
    tmp_path: Path, brief_timing: None
) -> None:
    torch = importlib.import_module("torch")
    (tmp_path / "spreads.py").write_text(SPREADS)
    place, winner = tmp_path / "r", tmp_path / "winner"
    with Workbench(tmp_path / "state", [tmp_path]) as bench:
        command = (sys.executable, "spreads.py")
        told = record_program(
            bench, RecordProgramArguments(command=command, recording="r", front="torch", keep=True)
        )
        every = {k.name: k.label for k in told.kernels}
        labels = [label for name, label in every.items() if name.startswith("aten::var_mean")]
        assert len(labels) == 2
        first = OpenRecordedArguments(recording="r", label=labels[0], to="both")
        opened = open_recorded(bench, first)
        assert len(opened.next) > 1 and f"{len(opened.next)} kernels" in opened.notes[-1]
        assert opened.workloads == tuple(labels)
        with pytest.raises(SpecError, match="was opened from"):
            export_winner(bench, place, labels, winner)
        for spec in sorted((tmp_path / "both").glob("*/spec.json")):
            told = json.loads(spec.read_text())
            assert [w["weight"] for w in told["workloads"][:2]] == [3.0, 3.0]
            held = told["workloads"][2]
            assert held["held_out"] and held["symbols"] == {"n0": 24}
            assert told["symbols"]["n0"] == {"min": 8, "max": 24, "multiple_of": 8}
            open_kernel(bench, OpenKernelArguments(spec_path=str(spec)))
        export_winner(bench, place, labels, winner)
        (top,) = (label for name, label in every.items() if name.startswith("aten::topk"))
        with pytest.raises(SpecError, match=r"no kernel is written for aten\.topk"):
            open_recorded(bench, OpenRecordedArguments(recording="r", label=top, to="topk"))
        with pytest.raises(SpecError, match="are of several"):
            export_winner(bench, place, [labels[0], top], winner)
    x = torch.randn(16, 96, generator=torch.Generator().manual_seed(1))
    for rows in (x, x[:8].clone()):
        wanted = torch.var_mean(rows, 1, correction=1)
        with deploy.installed(winner) as operator:
            found = torch.var_mean(rows, 1, correction=1)
        assert operator.uses == 1
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)
