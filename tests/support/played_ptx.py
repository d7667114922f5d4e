"""Triton's interpreter with the few instructions of PTX that moves write, played by numpy.

`python played_ptx.py SOURCE N:OFFSET... [SOURCE N:OFFSET...]`: `histogram` of each source on N
bytes so far behind an aligned address, on a device of three processors; a line a source, `right`
or `wrong` of each. As on a GPU, what is loaded begins at a multiple of its size.
"""

from __future__ import annotations

import os
import re
import sys
from functools import partial, partialmethod
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from types import SimpleNamespace
from typing import Any

os.environ["TRITON_INTERPRET"] = "1"

import numpy as np

torch: Any = import_module("torch")
interpreter: Any = import_module("triton.runtime.interpreter")
BASE, LANE, NOT_ZERO = 128, 5, 7
WORDS = np.zeros((BASE + 32768) // 4, dtype=np.int32)
"""shared memory of one program: the interpreter runs them in turn"""


def play(text: str, operands: list[Any]) -> Any:
    """What `$0` is after the instructions, for every element at once."""
    known: dict[str, Any] = {f"${i}": v for i, v in enumerate(operands, 1)}
    inner = re.fullmatch(r"\s*\{(.*)\}\s*", text, re.DOTALL)
    for each in (inner[1] if inner else text).split(";"):
        instruction, _, rest = each.strip().partition(" ")
        if instruction == ".shared":
            WORDS[:] = NOT_ZERO
            known[rest.split()[-1].partition("[")[0]] = np.array([BASE], dtype=np.int32)
        elif instruction not in ("", ".reg"):
            _step(instruction, re.findall(r"[\w$%]+", rest), known)
    return np.broadcast_arrays(known["$0"], *operands)[0].astype(np.int32)


def _step(instruction: str, names: list[str], known: dict[str, Any]) -> None:
    values = [_value(name, known) for name in names]
    match instruction:
        case "mov.u32" | "mov.b32":
            known[names[0]] = values[1]
        case "st.shared.v4.b32":
            for i in range(4):
                WORDS[values[0] // 4 + i] = values[1 + i]
        case "dp4a.u32.u32":
            a, b = (np.asarray(v).astype(np.int64) for v in values[1:3])
            parts = ((a >> 8 * i & 255) * (b >> 8 * i & 255) for i in range(4))
            known[names[0]] = sum(parts) + values[3]
        case "red.shared.add.u32":
            assert not np.any(values[0] % 4)
            np.add.at(WORDS, values[0] // 4, values[1])
        case "ld.shared.b32":
            known[names[0]] = WORDS[values[1] // 4]
        case _:
            raise NotImplementedError(instruction)


def _value(name: str, known: dict[str, Any]) -> Any:
    if name == "%laneid":
        return np.array([LANE], dtype=np.int32)
    return np.array([int(name, 0)]) if name[0].isdigit() else known.get(name)


def _inline_asm(_: Any, text: str, __: str, values: Any, kinds: Any, *___: Any) -> Any:
    result = play(text, [v.data for v in values])
    handle = interpreter.TensorHandle(result, kinds[0].scalar)

    def get_result(_: int) -> Any:
        return handle

    return SimpleNamespace(get_result=get_result)


def _aligned(load: Any, builder: Any, pointers: Any, mask: Any, *rest: Any) -> Any:
    size = pointers.get_element_ty().primitive_bitwidth // 8
    assert not np.any((pointers.data % size) * mask.data), "misaligned address"
    return load(builder, pointers, mask, *rest)


def _of_one_element(tensor: Any) -> int:
    return int(tensor.handle.data.reshape(-1)[0])


def _patched(patch: Any, tensor: Any, *rest: Any) -> None:
    patch(tensor, *rest)
    tensor.__index__ = _of_one_element  # Triton 3.6 makes it of what numpy 2.4 refuses


def _device(_: int) -> SimpleNamespace:
    return SimpleNamespace(multi_processor_count=3)


def main(*asked: str) -> None:
    """Run each source's `histogram` and compare."""
    builder = interpreter.InterpreterBuilder
    builder.create_inline_asm = _inline_asm
    builder.create_masked_load = partialmethod(partial(_aligned, builder.create_masked_load))
    interpreter._patch_lang_tensor = partial(_patched, interpreter._patch_lang_tensor)
    torch.cuda.get_device_properties = _device
    starts = [at for at, word in enumerate(asked) if ":" not in word]
    for start, end in zip(starts, [*starts[1:], len(asked)], strict=True):
        module = _loaded(asked[start])
        print(*(_found(module, *map(int, p.split(":"))) for p in asked[start + 1 : end]))


def _loaded(path: str) -> Any:
    spec = spec_from_file_location("candidate", path)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _found(module: Any, n: int, offset: int) -> str:
    torch.manual_seed(0)
    values = torch.randint(0, 256, (n + offset,), dtype=torch.uint8)[offset:]
    right = torch.equal(module.histogram(values), torch.bincount(values, minlength=256).int())
    return "right" if right else "wrong"


if __name__ == "__main__":
    main(*sys.argv[1:])
