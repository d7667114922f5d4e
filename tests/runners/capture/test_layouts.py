"""Which layouts of a result are the contract's: every element in its place."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kernelwright.runners.capture.calling import same_layout
from kernelwright.runners.specs.contract import BoundArgument, bind
from kernelwright.runners.specs.io_contract import Contract

Case = tuple[Sequence[int], Sequence[int] | None, Sequence[int]]
HONEST: dict[str, Case] = {
    "a vector": ([6], None, (1,)),
    "a matrix by rows": ([4, 6], None, (6, 1)),
    "a matrix by columns, declared so": ([4, 6], [1, 4], (1, 4)),
    "rows with room between them, declared so": ([4, 6], [8, 1], (8, 1)),
    "columns with room between them, declared so": ([4, 6], [1, 8], (1, 8)),
    "three axes": ([2, 3, 4], None, (12, 4, 1)),
    "channels last, declared so": ([2, 3, 4, 5], [60, 1, 15, 3], (60, 1, 15, 3)),
    "a turn of the last two axes, declared so": ([2, 3, 4], [12, 1, 3], (12, 1, 3)),
    "one element": ([1], None, (1,)),
    "one element, whatever it says of the next one": ([1], None, (77,)),
    "one row of a larger matrix": ([1, 6], None, (24, 1)),
    "one row that is repeated once": ([1, 6], None, (0, 1)),
    "one column by a view": ([6, 1], None, (1, 1)),
    "one column of a matrix of one column": ([6, 1], None, (1, 6)),
    "a view with an axis of one in the middle": ([4, 1, 6], None, (6, 999, 1)),
    "nothing at all": ([0], None, (1,)),
    "no rows, with any strides": ([0, 6], None, (1, 0)),
    "no columns, with any strides": ([4, 0], None, (0, 7)),
}
"""the contract's shape and strides (None: dense, by rows), and the strides that come back"""
OTHERS: dict[str, Case] = {
    "one row many times": ([4, 6], None, (0, 1)),
    "one element many times": ([6], None, (0,)),
    "a turned copy": ([6, 6], None, (1, 6)),
    "every second element": ([6], None, (2,)),
    "rows with room between them": ([4, 6], None, (8, 1)),
    "dense, where room is declared": ([4, 6], [8, 1], (6, 1)),
}


def taken(case: Case) -> bool:
    shape, strides, back = case
    y = {"name": "y", "role": "output", "dtype": "float32", "shape": shape, "strides": strides}
    contract = bind(Contract.model_validate({"arguments": [y]}), {}, "here")
    output: BoundArgument = contract.outputs[0]
    return same_layout(output, back)


@pytest.mark.parametrize("what", HONEST)
def test_a_layout_with_every_element_in_its_place_is_taken(what: str) -> None:
    assert taken(HONEST[what])


@pytest.mark.parametrize("what", OTHERS)
def test_one_with_elements_elsewhere_is_not(what: str) -> None:
    assert not taken(OTHERS[what])
