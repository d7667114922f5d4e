"""A winner as an operator of the user's own: a file that a person reads and imports.

Its gradient is by the original's own formula; under `torch.compile` it stays one call, whose shapes
come from the original.
"""

from __future__ import annotations

import importlib
import re
import shutil
from pathlib import Path
from typing import Any, cast

from ....deploy.reading import OPERATOR_JSON, Winner, read_winner
from ....runners.errors import SpecError
from ....runners.whole_files import write_whole

TEXT = '''"""torch.ops.kernelwright.{name}: {operator} with a kernel where that was proved.

    from {name} import {name}
    y = {name}({usual})

The kernel runs for
{cases}
and every other call is PyTorch's. It lies in `{folder}` beside this file, with what was measured.
"""

from pathlib import Path

import torch
from kernelwright import deploy

winner = deploy.load(Path(__file__).with_name("{folder}"))
original = torch.ops.{path}


@torch.library.custom_op("kernelwright::{name}", mutates_args=(), schema="{schema}")
def {name}(*given, **named):
    return winner(*given, **named)


@{name}.register_fake
def _shapes(*given, **named):
    return original(*given, **named)


def _keep(ctx, inputs{keyword}, output):
    ctx.save_for_backward(*(each for each in inputs if isinstance(each, torch.Tensor)))
    ctx.rest = [None if isinstance(each, torch.Tensor) else (each,) for each in inputs]
    ctx.named = {named}


def _backward(ctx, *gradients):
    """By the original's own formula, computed from the inputs once more."""
    tensors = iter(ctx.saved_tensors)
    given = [next(tensors) if each is None else each[0] for each in ctx.rest]
    wanted = [n for n, needs in enumerate(ctx.needs_input_grad[: len(given)]) if needs]

    def call(*changed):
        for n, tensor in zip(wanted, changed):
            given[n] = tensor
        return original(*given, **ctx.named)

    _, pull = torch.func.vjp(call, *(given[n] for n in wanted))
    found = dict(zip(wanted, pull(gradients if len(gradients) > 1 else gradients[0])))
    return tuple(found.get(n) for n in range(len(given)))


{name}.register_autograd(_backward, setup_context=_keep)
'''
NAME = re.compile(r"[a-z_][a-z0-9_]*")


def write_operator(winner: Path, to: Path) -> Path:
    """Write the module `to` (`norm3.py`) with a copy of the winner beside it.

    Raises SpecError for a name that is none, and for operators that take lists of tensors; Refused
    for a folder that holds no winner.
    """
    name = to.stem
    if to.suffix != ".py" or NAME.fullmatch(name) is None:
        raise SpecError(f"{to.name} is no name of a module", valid="lower case: norm3.py")
    told = read_winner(winner)
    schema = schema_of(told.operator)
    folder = f"{name}_kernel"
    path = told.operator.replace("::", ".") + ("" if "." in told.operator else ".default")
    if "Tensor[]" in schema or "Tensor?[]" in schema:
        raise SpecError(
            f"{told.operator} takes lists of tensors: {schema}",
            next_step="put it in the operator's place (`operator verify --install`)",
        )
    takes_names = ", *, " in schema
    text = TEXT.format(
        operator=told.operator,
        name=name,
        usual=_usual(told),
        cases="\n".join(f"    {each}" for each in _cases(told)),
        folder=folder,
        path=path,
        schema=schema,
        keyword=", keyword_only_inputs" if takes_names else "",
        named="keyword_only_inputs" if takes_names else "{}",
    )
    home = to.with_name(folder)
    home.mkdir(parents=True, exist_ok=True)
    for file in (OPERATOR_JSON, *told.files):
        shutil.copyfile(winner / file, home / file)
    return write_whole(to, text)


def schema_of(operator: str) -> str:
    """`(Tensor self) -> Tensor`, as this torch has it. Raises ToolchainMissing without torch."""
    from ....runners.modules.running import require_torch

    require_torch()
    torch: Any = importlib.import_module("torch")
    namespace, _, rest = operator.partition("::")
    packet, _, overload = rest.partition(".")
    op = getattr(getattr(getattr(torch.ops, namespace), packet), overload or "default")
    text = str(op._schema)
    return text[text.index("(") :]


def _cases(told: Winner) -> list[str]:
    return [_call(case.key) for case in told.cases]


def _usual(told: Winner) -> str:
    return _call(told.cases[0].key)


def _call(key: Any) -> str:
    """`float32[8,64], 3, [1]`."""
    args, named = cast("tuple[Any, Any]", key)
    words = [_word(each) for each in args] + [f"{name}={_word(each)}" for name, each in named]
    return ", ".join(words)


def _word(value: Any) -> str:
    if value and value[0] == "tensor":
        return f"{value[1]}[{','.join(map(str, value[2]))}]"
    if len(value) == 2 and isinstance(value[0], str):
        return str(value[1])
    return f"[{', '.join(map(_word, value))}]"
