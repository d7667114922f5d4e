"""A winner in an operator's place: where it was proved it runs, elsewhere PyTorch does."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from operator_folder import cubes, operator_folder

from kernelwright import deploy

pytestmark = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
torch: Any = None
NAME = "aten::linalg_vector_norm"


@pytest.fixture(scope="module", autouse=True)
def with_torch() -> None:
    """Not while tests are collected: it takes seconds."""
    globals()["torch"] = importlib.import_module("torch")


def norm(x: Any) -> Any:
    return torch.linalg.vector_norm(x, 3, dim=1)


@pytest.fixture(scope="module")
def winner(with_torch: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cubes(tmp_path_factory.mktemp("winner") / "norm", torch)


@pytest.fixture(scope="module")
def rows(with_torch: None) -> Any:
    return torch.randn(8, 64, generator=torch.Generator().manual_seed(0))


def test_it_runs_where_it_was_proved_and_is_taken_out_to_the_bit(winner: Path, rows: Any) -> None:
    before = norm(rows)
    with deploy.installed(winner) as operator:
        within = norm(rows)
        assert operator.uses == 1
    torch.testing.assert_close(within, before)
    assert torch.equal(norm(rows), before) and operator.uses == 1


def test_any_other_call_is_pytorchs(winner: Path, rows: Any) -> None:
    others = {
        "shape": rows[:4],
        "type": rows.double(),
        "strides": torch.empty(64, 8).t().copy_(rows),
        "address": torch.empty(8 * 64 + 1)[1:].view(8, 64).copy_(rows),
        "device": rows.to("meta"),
    }
    plain = {name: norm(x) for name, x in others.items()}
    order, kept = torch.linalg.vector_norm(rows, 4, dim=1), norm(rows.requires_grad_(False))
    with deploy.installed(winner) as operator:
        for name, x in others.items():
            found = norm(x)
            assert found.device == plain[name].device and found.dtype == plain[name].dtype
            assert x.is_meta or torch.equal(found, plain[name]), name
        assert torch.equal(torch.linalg.vector_norm(rows, 4, dim=1), order)
        assert operator.uses == 0
        torch.testing.assert_close(norm(rows), kept)
        assert operator.uses == 1


def test_a_number_in_a_tensors_place_is_added_as_pytorch_adds_it(tmp_path: Path) -> None:
    twice = """extern "C" void call(void** p) {
        const float* x = *(const float**)p[0]; float* out = *(float**)p[1];
        for (int i = 0; i < 8; ++i) out[i] = 2 * x[i];
    }"""
    x, whole = torch.arange(8.0), torch.arange(3)
    folder = operator_folder(tmp_path / "w", torch, "aten::add.Tensor", twice, lambda x: x + x, x)

    def sums() -> list[Any]:
        one = torch.tensor(2, dtype=torch.int32)
        return [x + 64, x.half() + 2.5, whole + 1, whole + 2.5, whole.bool() + 1, one + 1]

    plain = sums()
    with deploy.installed(folder) as operator:
        assert [(t.dtype, t.tolist()) for t in sums()] == [(t.dtype, t.tolist()) for t in plain]
        assert operator.uses == 0 and torch.equal(x + x, 2 * x) and operator.uses == 1


def test_gradients_are_those_of_the_operator(winner: Path, rows: Any) -> None:
    plain, within = rows.clone().requires_grad_(), rows.clone().requires_grad_()
    norm(plain).square().sum().backward()
    with deploy.installed(winner) as operator:
        norm(within).square().sum().backward()
        assert operator.uses == 1
    torch.testing.assert_close(plain.grad, within.grad)


def test_a_second_winner_and_exchanged_files_are_refused(winner: Path, tmp_path: Path) -> None:
    with deploy.installed(winner), pytest.raises(deploy.Refused, match="in its place already"):
        deploy.install(winner)
    assert not deploy.take_out(NAME)
    other = cubes(tmp_path / "other", torch)
    (other / "k.so").write_bytes(b"\x7fELF")
    with pytest.raises(deploy.Refused, match="is not what was proved"):
        deploy.load(other)
    with pytest.raises(deploy.Refused, match="holds no operator"):
        deploy.load(tmp_path)


def test_code_of_another_processor_is_refused(tmp_path: Path) -> None:
    other = cubes(tmp_path / "other", torch)
    file = other / "operator.json"
    file.write_text(file.read_text().replace('"target": "', '"target": "Another '))
    with pytest.raises(deploy.Refused, match="built and proved on Another"):
        deploy.load(other)
