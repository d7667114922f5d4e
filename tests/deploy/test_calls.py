"""What a call of a winner costs, and that calls at the same time do not share their memory."""

from __future__ import annotations

import importlib
from importlib.util import find_spec

import pytest

from kernelwright.deploy import cost
from kernelwright.deploy.packing import Packing
from kernelwright.deploy.reading import Parameter


def test_a_call_has_its_parameters_alone_until_it_gives_them_back() -> None:
    four = Parameter(dtype="int32", raw=(4).to_bytes(4, "little"))
    packing = Packing((Parameter(buffer="x", offset=8), four, Parameter()), {"x": 1})
    first, second = packing.take([0, 100]), packing.take([0, 200])
    assert (first[1][0], second[1][0]) == (108, 208)
    packing.give(first)
    again = packing.take([0, 300])
    assert again[1] is first[1] and list(again[1])[:3:2] == [308, 4]
    assert [again[0][n] - again[0][0] for n in range(3)] == [0, 16, 32]


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_the_cost_of_a_call_is_measured_and_the_operator_given_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = importlib.import_module("torch")
    monkeypatch.setattr(cost, "ROUNDS", 2)
    monkeypatch.setattr(cost, "CALLS", 3)
    told = cost.call_costs("cpu")
    assert set(told) == {"operator_us", "winner_us", "elsewhere_us", "wait_us"}
    assert told["winner_us"] > 0
    x = torch.ones(cost.NUMBERS)
    assert torch.equal(torch.neg(x), -torch.ones(cost.NUMBERS))
