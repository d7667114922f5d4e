"""A spec from a source and what a caller knows of one call: names, numbers, arrays.

Pure, but for what `Draft` was read from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..runners.errors import SpecError
from ..runners.loading.completing import OPEN, Draft

Json = dict[str, Any]
Given = int | float | NDArray[Any]
Values = Mapping[str, Sequence[int]]


def spec_data(
    draft: Draft,
    values: Values,
    arguments: Mapping[str, Given],
    held_out: Mapping[str, int] | None,
    reference: str | dict[str, str],
) -> Json:
    """The draft with everything filled in that the arguments of a call tell.

    Numbers give scalars and sizes, arrays their shape and dtype; the values within them are not
    used. Raises SpecError with what is still open, and for arguments that contradict the source.
    """
    data: Json = {**draft.data, "reference": reference}
    listed: list[Json] = [dict(each) for each in data["io"]["arguments"]]
    _require_known(arguments, [each["name"] for each in listed], data["symbols"])
    sizes = {n: int(v) for n, v in arguments.items() if n in data["symbols"] and _is_number(v)}
    for each in listed:
        _fill(each, arguments.get(each["name"]), sizes)
    data["io"] = {**data["io"], "arguments": listed}
    bound = {name: sizes.get(name, OPEN) for name in data["symbols"]}
    data["workloads"] = [{"name": "usual", "symbols": bound}]
    if held_out is not None:
        unseen: Json = {"name": "unseen", "symbols": {**bound, **held_out}, "held_out": True}
        data["workloads"].append(unseen)
    if values:
        tuned = {name: {"values": list(each)} for name, each in values.items()}
        data["parameters"] = {**data.get("parameters", {}), **tuned}
    _require_whole(data)
    return data


def _fill(argument: Json, given: Given | None, sizes: dict[str, int]) -> None:
    if given is None:
        return
    if argument["role"] == "scalar":
        _fill_scalar(argument, given)
        return
    if not isinstance(given, np.ndarray):
        raise SpecError(f"`{argument['name']}` is an array, {given!r} was given", valid="an array")
    _fill_array(argument, given, sizes)


def _fill_scalar(argument: Json, given: Given) -> None:
    if not _is_number(given):
        raise SpecError(f"`{argument['name']}` is a number, an array was given", valid="a number")
    if argument["value"] == OPEN:
        argument["value"] = float(given) if isinstance(given, float | np.floating) else int(given)


def _fill_array(argument: Json, given: NDArray[Any], sizes: dict[str, int]) -> None:
    name, dtype = argument["name"], str(given.dtype)
    if argument["dtype"] not in (OPEN, dtype):
        raise SpecError(
            f"`{name}` is {argument['dtype']} in the source, the array given is {dtype}",
            next_step=f"give it as {argument['dtype']}",
        )
    argument["dtype"] = dtype
    shape = argument["shape"]
    if shape == [OPEN]:
        argument["shape"] = list(given.shape)
        return
    for size, extent in zip(shape, given.shape, strict=False):
        if isinstance(size, str) and size.isidentifier():
            if sizes.setdefault(size, extent) != extent and len(shape) == given.ndim:
                raise SpecError(f"`{name}` has shape {given.shape}, but {size} = {sizes[size]}")


def _is_number(given: object) -> bool:
    return isinstance(given, int | float | np.integer | np.floating)


def _require_known(arguments: Mapping[str, Given], *known: Sequence[str]) -> None:
    names = list(dict.fromkeys(name for each in known for name in each))
    if unknown := [name for name in arguments if name not in names]:
        raise SpecError(f"arguments: the kernel has no `{unknown[0]}`", valid=", ".join(names))


def _require_whole(data: Json) -> None:
    """Raises SpecError with every place that is still open, and what would fill it."""
    lines = list[str]()
    for each in data["io"]["arguments"]:
        for field in ("role", "dtype", "shape", "value"):
            if each.get(field) in (OPEN, [OPEN]):
                lines.append(f"{field} of `{each['name']}`")
    for workload in cast(list[Json], data["workloads"]):
        lines += [f"a value of `{n}`" for n, v in workload["symbols"].items() if v == OPEN]
    launch = cast(Json, data["kernel"].get("launch") or {})
    lines += [f"kernel.launch.{n}" for n in ("grid", "block") if launch.get(n) == [OPEN]]
    if lines:
        raise SpecError(
            f"neither the source nor `arguments` say: {', '.join(dict.fromkeys(lines))}",
            valid="numbers and arrays by the names of the kernel's arguments",
            next_step="give them in `arguments`; what cannot be said there, such as a role, in "
            "`spec`, whose fields go over those that were found (kernelwright spec --schema)",
        )
