"""What a folder with a winner says: which calls it stands for, and what is run for them.

The folder holds `operator.json` and the machine code that it names by its hash. Nothing is believed
that does not agree with its hash.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

OPERATOR_JSON, FORMAT = "operator.json", 1
Key = tuple[Any, ...]
"""what sets calls apart: of each tensor type, shape and strides, else the value"""
FILE, OPERATOR = re.compile(r"\w[\w.-]*"), re.compile(r"\w+::\w+(\.\w+)*")
"""names that lead nowhere else"""


class Refused(RuntimeError):
    """A winner that cannot be put in place, and why."""


@dataclass(frozen=True, slots=True)
class Made:
    """A tensor that the operator returns."""

    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """Memory that a step is given: the n-th tensor of the call, the n-th result, or bytes of our
    own; `align` in bytes is what the kernel was proved with."""

    kind: Literal["input", "output", "scratch"]
    number: int
    """of `scratch` its bytes"""
    align: int = 1


@dataclass(frozen=True, slots=True)
class Parameter:
    """An address in a buffer, or a value: its type and bytes."""

    buffer: str = ""
    offset: int = 0
    dtype: str = ""
    raw: bytes = b""


@dataclass(frozen=True, slots=True)
class Step:
    """A function that is called or launched; without a file a fill of `nbytes` by `pattern`."""

    file: str
    entry: str
    parameters: tuple[Parameter, ...]
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    shared: int = 0
    pattern: bytes = b""
    nbytes: int = 0


@dataclass(frozen=True, slots=True)
class Case:
    """One kind of call, and what runs for it."""

    label: str
    key: Key
    made: tuple[Made, ...]
    buffers: Mapping[str, Buffer]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Winner:
    """All that a folder says."""

    folder: Path
    operator: str
    """`aten::linalg_vector_norm`, with its overload behind a dot"""
    device: Literal["cpu", "cuda"]
    target: str
    """`sm_90`, or the processor that host code was built on"""
    files: tuple[str, ...]
    cases: tuple[Case, ...]
    proof: Mapping[str, Any]


def read_winner(folder: Path) -> Winner:
    """Read a folder. Raises Refused for one that is none, for files with another hash or outside
    of it, and for a step that runs a file without a hash."""
    try:
        told = cast("dict[str, Any]", json.loads((folder / OPERATOR_JSON).read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise Refused(f"{folder} holds no operator of Kernelwright: {error}") from error
    if told.get("format") != FORMAT:
        raise Refused(f"{folder} has format {told.get('format')}; this version reads {FORMAT}")
    try:
        return _checked(folder, told)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Refused(f"{folder / OPERATOR_JSON} is not as one is written: {error!r}") from error


def _checked(folder: Path, told: Mapping[str, Any]) -> Winner:
    if not OPERATOR.fullmatch(told["operator"]):
        raise Refused(f"{folder}: {told['operator']!r} is no operator's name")
    for name, wanted in told["files"].items():
        if not FILE.fullmatch(name):
            raise Refused(f"{folder}: {name!r} is no name of a file in it")
        file = folder / name
        content = file.read_bytes() if file.is_file() else b""
        if hashlib.sha256(content).hexdigest() != wanted:
            raise Refused(f"{file} is not what was proved: its hash is another")
    cases = tuple(_case(each) for each in told["cases"])
    for step in (step for case in cases for step in case.steps):
        if step.file and step.file not in told["files"]:
            raise Refused(f"{folder}: a step runs {step.file!r}, of which it says no hash")
    return Winner(
        folder=folder,
        operator=told["operator"],
        device=told["device"],
        target=told["target"],
        files=tuple(told["files"]),
        cases=cases,
        proof=told.get("proof", {}),
    )


def _case(told: Mapping[str, Any]) -> Case:
    return Case(
        label=told["label"],
        key=frozen(told["key"]),
        made=tuple(
            Made(m["dtype"], _whole(m["shape"]), _whole(m["strides"])) for m in told["made"]
        ),
        buffers={name: Buffer(**each) for name, each in told["buffers"].items()},
        steps=tuple(_step(each) for each in told["steps"]),
    )


def _step(told: Mapping[str, Any]) -> Step:
    x, y, z = told.get("grid", (1, 1, 1))
    a, b, c = told.get("block", (1, 1, 1))
    return Step(
        file=told.get("file", ""),
        entry=told.get("entry", ""),
        parameters=tuple(_parameter(each) for each in told["parameters"]),
        grid=(x, y, z),
        block=(a, b, c),
        shared=told.get("shared", 0),
        pattern=bytes.fromhex(told.get("pattern", "")),
        nbytes=told.get("nbytes", 0),
    )


def _parameter(told: Mapping[str, Any]) -> Parameter:
    if "buffer" in told:
        return Parameter(buffer=told["buffer"], offset=told.get("offset", 0))
    return Parameter(dtype=told["dtype"], raw=bytes.fromhex(told["raw"]))


def _whole(values: list[int]) -> tuple[int, ...]:
    return tuple(values)


def frozen(value: Any) -> Any:
    """Lists as tuples, all the way down."""
    if isinstance(value, list | tuple):
        return tuple(frozen(each) for each in cast("list[Any]", value))
    return value
