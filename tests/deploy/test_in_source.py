"""A winner as an operator of one's own, and in a program's source: read, differentiated, undone."""

from __future__ import annotations

import importlib
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from operator_folder import cubes

from kernelwright.runners.errors import AccessError, SpecError
from kernelwright.tools.programs.operators.patching import patch_source, undo_patch
from kernelwright.tools.programs.operators.source import write_operator

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
torch: Any = None
PROGRAM = '''"""A program."""
from __future__ import annotations
import torch
print(torch.linalg.vector_norm(torch.ones(8, 64), 3, dim=1).sum().item())
'''


@pytest.fixture(scope="module", autouse=True)
def with_torch() -> None:
    """Not while tests are collected: it takes seconds."""
    globals()["torch"] = importlib.import_module("torch")


@pytest.fixture(scope="module")
def winner(with_torch: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cubes(tmp_path_factory.mktemp("winner") / "norm", torch)


@pytest.fixture(scope="module")
def norm3(winner: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("own")
    write_operator(winner, folder / "norm3.py")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        yield importlib.import_module("norm3")
    del sys.modules["norm3"]


def test_it_is_the_operator_to_every_check_of_torchs(norm3: Any) -> None:
    x = torch.randn(8, 64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    assert "float32[8,64], 3, [1]" in norm3.__doc__
    passed = torch.library.opcheck(norm3.norm3, (x, 3, [1]))
    assert set(passed.values()) == {"SUCCESS"} and len(passed) == 4
    before = norm3.winner.uses
    torch.testing.assert_close(norm3.norm3(x, 3, [1]), torch.linalg.vector_norm(x, 3, dim=1))
    assert norm3.winner.uses == before + 1


def test_it_survives_compile_as_one_graph_with_the_originals_gradient(norm3: Any) -> None:
    given = torch.randn(8, 64, generator=torch.Generator().manual_seed(1))
    one, two = given.clone().requires_grad_(), given.clone().requires_grad_()

    def squares(x: Any) -> Any:
        return norm3.norm3(x * 2, 3, [1]).square().sum()

    compiled = torch.compile(squares, fullgraph=True, backend="aot_eager")
    before = norm3.winner.uses
    compiled(one).backward()
    assert norm3.winner.uses == before + 1
    torch.linalg.vector_norm(two * 2, 3, dim=1).square().sum().backward()
    torch.testing.assert_close(one.grad, two.grad)


def test_a_programs_source_is_patched_and_put_back_by_its_hash(
    winner: Path, tmp_path: Path
) -> None:
    wrong, program = cubes(tmp_path / "wrong", torch, start="1000"), tmp_path / "program.py"
    program.write_text(PROGRAM)
    patch_source(program, wrong)
    assert program.read_text().splitlines()[:2] == PROGRAM.splitlines()[:2]
    with pytest.raises(SpecError, match="patched already"):
        patch_source(program, winner)
    ran = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert float(ran.stdout) == pytest.approx(8 * 1064 ** (1 / 3))  # the winner's own answer
    undo_patch(program)
    assert program.read_text() == PROGRAM
    with pytest.raises(AccessError, match="is not patched"):
        undo_patch(program)


def test_a_backup_that_was_changed_is_not_put_back(winner: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    patch_source(program, winner).backup.write_text("something else")
    with pytest.raises(AccessError, match="no backup"):
        undo_patch(program)
