"""A recorded call of an operator as a module in KernelBench's form: what a kernel is cut from.

Kernels are written for tensors that lie row by row. One that lies otherwise without gaps (a
transposed weight, channels innermost) is given in the order in which it lies, and seen through a
permutation: the loops then read memory as it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, cast

from ...deploy.reading import Made
from ...runners.errors import SpecError
from ...runners.recording.operators.seen import SeenOperator, is_tensor

RECORDED = "recorded.pt"
HEAD = '''"""The operator {operator} as a program called it {count} times."""

from pathlib import Path

import torch

RECORDED = Path(__file__).with_name("{recorded}")
'''
TAIL = '''

def get_init_inputs():
    return []


def recorded():
    """The tensors of the program's first call: what it gave, and what it got."""
    return torch.load(RECORDED, weights_only=True)


def get_inputs():
{begin}    return [{given}]


def get_outputs():
    made = recorded()["made"]
    return [{made}]
'''


def module_text(seen: SeenOperator, shapes: Sequence[Sequence[int]] | None = None) -> str:
    """The file. `shapes`: of its inputs as they lie, which are zeros of them then and not those of
    the call. Raises SpecError for tensors with gaps, and for operators that are not ATen's."""
    namespace, _, name = seen.operator.partition("::")
    if namespace != "aten":
        raise SpecError(
            f"{seen.operator} is an operator of the program's own: what it computes is not known",
            valid="operators of aten",
            next_step="write a spec with its source (`kernelwright spec --infer`)",
        )
    packet, _, overload = name.partition(".")
    orders = [order_of(each) for each in seen.tensors]
    results = [order_of(each) for each in seen.made]
    call = _call(seen.key)
    lines = [
        HEAD.format(operator=seen.operator, count=seen.count, recorded=RECORDED),
        "",
        "class Model(torch.nn.Module):",
        f"    def forward(self, {', '.join(f'x{n}' for n in range(len(orders)))}):",
        *(f"        x{n} = x{n}.permute{back(order)}" for n, order in enumerate(orders)
          if not _plain(order)),
        f"        out = torch.ops.aten.{packet}.{overload or 'default'}({call})",
    ]  # fmt: skip
    if len(results) == 1:
        lines.append(f"        return out{_permuted(results[0])}")
    else:
        each = [f"out[{n}]{_permuted(order)}" for n, order in enumerate(results)]
        lines.append(f"        return ({', '.join(each)})")
    if shapes is None:
        given = [f"given[{n}]{_permuted(o)}.contiguous()" for n, o in enumerate(orders)]
    else:
        kinds = [each.dtype for each in seen.tensors]
        given = [
            f"torch.zeros({tuple(shape)!r}, dtype=torch.{kind})"
            for shape, kind in zip(shapes, kinds, strict=True)
        ]
    made = (f"made[{n}]{_permuted(o)}.contiguous()" for n, o in enumerate(results))
    return (
        "\n".join(lines)
        + "\n"
        + TAIL.format(
            begin="" if shapes is not None else '    given = recorded()["given"]\n',
            given=", ".join(given),
            made=", ".join(made),
        )
    )


def shapes_as_they_lie(seen: SeenOperator) -> list[tuple[int, ...]]:
    """Of its tensors, the outermost dimension first. Raises SpecError for gaps."""
    return [tuple(each.shape[axis] for axis in order_of(each)) for each in seen.tensors]


def form_of(seen: SeenOperator) -> Any:
    """What calls have in common that differ in the sizes of their tensors alone. Raises SpecError
    for tensors with gaps."""
    orders = iter([order_of(each) for each in seen.tensors])
    made = tuple((each.dtype, order_of(each)) for each in seen.made)
    return seen.operator, seen.device, _form(seen.key, orders), made


def _form(value: Any, orders: Any) -> Any:
    if is_tensor(value):
        return "tensor", value[1], next(orders)
    if isinstance(value, tuple):
        return tuple(_form(each, orders) for each in cast("tuple[Any, ...]", value))
    return value


def order_of(tensor: Made) -> tuple[int, ...]:
    """Its dimensions as they lie in memory, the outermost first. Raises SpecError for gaps."""
    wide = [a for a, n in enumerate(tensor.shape) if n != 1]
    lie = sorted(wide, key=lambda a: -tensor.strides[a])
    expected = 1
    for axis in reversed(lie):
        if tensor.strides[axis] != expected:
            raise SpecError(
                f"a tensor of shape {list(tensor.shape)} with strides {list(tensor.strides)} has "
                "gaps or lies over itself: kernels are written for tensors without",
                next_step="make it contiguous in the program, and record it again",
            )
        expected *= tensor.shape[axis]
    if lie == wide:
        return tuple(range(len(tensor.shape)))
    ones = [a for a, n in enumerate(tensor.shape) if n == 1]
    return (*ones, *lie)


def back(order: Sequence[int]) -> tuple[int, ...]:
    """The permutation that undoes one."""
    return tuple(order.index(axis) for axis in range(len(order)))


def _plain(order: Sequence[int]) -> bool:
    return list(order) == sorted(order)


def _permuted(order: Sequence[int]) -> str:
    return "" if _plain(order) else f".permute{tuple(order)}"


def _call(key: Any) -> str:
    """The arguments as Python, tensors as x0, x1."""
    numbers = iter(range(1 << 20))
    args, named = cast("tuple[Any, Any]", key)
    words = [_word(each, numbers) for each in args]
    words += [f"{name}={_word(each, numbers)}" for name, each in named]
    return ", ".join(words)


def _word(value: Any, numbers: Any) -> str:
    if is_tensor(value):
        return f"x{next(numbers)}"
    kind = value[0] if value and isinstance(value[0], str) and len(value) == 2 else ""
    if kind == "NoneType":
        return "None"
    if kind == "float" and not math.isfinite(value[1]):
        return f"float({str(value[1])!r})"
    if kind in ("int", "float", "bool", "str"):
        return repr(value[1])
    if kind == "other":
        return value[1] if value[1].startswith("torch.") else repr(value[1])
    return f"[{', '.join(_word(each, numbers) for each in value)}]"
