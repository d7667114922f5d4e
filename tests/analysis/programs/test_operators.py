"""What is told of a program's operators."""

from __future__ import annotations

from pathlib import Path

from kernelwright.analysis.programs.operators import (
    first_to_open,
    operator_report,
    operators_text,
)
from kernelwright.deploy.reading import Key
from kernelwright.runners.recording.operators.seen import SeenOperator, SeenOperators


def _tensor(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[object, ...]:
    return ("tensor", "float32", shape, strides, "cpu")


def _seen(
    label: str, operator: str, tensors: tuple[object, ...], why_not: str = ""
) -> SeenOperator:
    key: Key = (tensors, ())
    return SeenOperator(label, operator, key, (), 2, 1000, why_not, None)


def test_calls_that_differ_in_strides_alone_do_not_look_the_same() -> None:
    wide, tall = _tensor((4, 8), (8, 1)), _tensor((4, 8), (1, 4))
    rows = (_seen("o0", "aten::mm", (wide, wide)), _seen("o1", "aten::mm", (wide, tall)))
    text = operators_text(operator_report(SeenOperators(rows, Path()), ["train"]))
    assert "aten::mm float32[4,8], float32[4,8]\n" in text
    assert "aten::mm float32[4,8], float32[4,8](1,4)\n" in text


def test_of_many_tensors_the_first_are_told_and_what_may_be_opened_is_named() -> None:
    many = tuple(_tensor((size,), (1,)) for size in range(1, 31))
    rows = (
        _seen("o0", "aten::_foreach_mul_", many, "it writes into what it is given"),
        _seen("o1", "aten::mm", many[:2]),
    )
    report = operator_report(SeenOperators(rows, Path()), ["train"])
    assert "float32[5] and 25 more  [not replaceable" in operators_text(report)
    assert first_to_open(report) == "o1"
