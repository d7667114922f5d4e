"""Specs that say less than everything: completed from the source, or refused with what is open.

Pure: sources come in as texts. What the source leaves open stands as `?` in the draft; nothing
is filled in that could be otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ..c_source.own_headers import with_headers
from ..errors import SpecError
from ..inferring.cpp_inference import Surroundings
from ..inferring.readers import entries, inner_entries, is_read, source_kernel
from ..inferring.signature import ArrayArgument, ScalarArgument, SourceKernel
from ..languages import KERNEL_TYPES, LANGUAGES, KernelType
from ..specs.text import written
from .entry_names import with_entry
from .left_open import ASKED, OPEN

KINDS: Mapping[str, KernelType] = {
    suffix: each.kernel_type for each in LANGUAGES.values() for suffix in each.suffixes
}
SHOWN_SOURCE = 1000
"""Characters of an inline source that a refusal repeats; a longer one is only named."""
Json = dict[str, Any]


@dataclass(frozen=True)
class Draft:
    """A spec as far as it is known."""

    data: Json
    undecided: tuple[str, ...]
    """place: what belongs there and why it is open; empty when the spec is complete"""
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    """the texts of `kernel.files`, by their paths there"""


def kernel_kind(name: str) -> KernelType:
    """The kernel type of a source file by its suffix. Raises SpecError for another one."""
    suffix = name[name.rfind(".") :].lower() if "." in name else ""
    if suffix not in KINDS:
        raise SpecError(f"{name} is no source of a kernel", valid=", ".join(KINDS))
    return KINDS[suffix]


def draft_of_source(
    name: str, source: str, entry: str | None = None, files: Mapping[str, str] | None = None
) -> Draft:
    """A spec for a source file of that name.

    `files`: further files that it includes, which may hold the kernel too: path -> text. Raises
    SpecError when they hold no kernel, or several and `entry` names none of them.
    """
    kind = kernel_kind(name)
    _check_read(kind)
    if entry is None:
        whole = with_headers(source, files or {})
        entry = _only(name, entries(whole, kind), inner_entries(whole, kind))
    kernel: Json = {"kernel_type": kind, "source_path": name, "metadata": {"kernel_name": entry}}
    if files:
        kernel["files"] = list(files)
    data: Json = {"name": re.sub(r"[^A-Za-z0-9_]", "_", entry)[:64], "kernel": kernel}
    return draft({**data, "device_profile": {"arch": "native"}}, source, files)


def completed(data: object, read: Callable[[str], str]) -> object:
    """A spec's JSON data in today's form, with `io` and what follows from it filled in.

    `read` gives the text of `kernel.source_path`. `kernel.io.launch`, the older place, becomes
    `kernel.launch`; a C++ name of the entry goes there. A spec with `io` keeps all else as it is;
    one whose kernel cannot be found goes through unchanged, for `parse_spec` to name its faults.
    Raises SpecError with the completed spec when the source does not say everything.
    """
    if not isinstance(data, dict) or not isinstance(cast(Json, data).get("kernel"), dict):
        return cast(object, data)
    moved = with_entry(_launch_moved(cast(Json, data)))
    if "io" in moved:
        return moved
    kernel = cast(Json, moved["kernel"])
    source, path = kernel.get("source_code"), kernel.get("source_path")
    named = isinstance(kernel.get("metadata"), dict) and kernel["metadata"].get("kernel_name")
    known = kernel.get("kernel_type") in KERNEL_TYPES and isinstance(named, str)
    if not known or not named or isinstance(source, str) == isinstance(path, str):
        return moved
    named_files = kernel.get("files")
    listed = cast("list[object]", named_files) if isinstance(named_files, list) else []
    files = {name: read(name) for name in listed if isinstance(name, str)}
    return decided(draft(moved, source if isinstance(source, str) else read(str(path)), files))


def decided(found: Draft, beside: str | None = None) -> Json:
    """The spec of a draft. Raises SpecError with all that is open, and the spec to edit.

    `beside` is the source file for which nobody has written a spec so far.
    """
    if not found.undecided:
        return found.data
    shown = _without_long_source(found.data)
    save = f", save it beside {beside}" if beside else ""
    raise SpecError(
        (
            "the source does not say all of a spec"
            if beside
            else "the spec lacks `io`, which its source does not wholly say"
        )
        + ". Undecided:\n"
        + "\n".join(f"  {line}" for line in found.undecided)
        + f"\nThe spec so far, `{OPEN}` where you decide:\n"
        + written(shown),
        next_step=f"replace each `{OPEN}`{save} and open that spec, or give it to open_kernel as "
        "`spec`; "
        f"`kernelwright spec --infer {beside or 'SOURCE'}` prints one for a source file",
    )


def draft(data: Json, source: str, files: Mapping[str, str] | None = None) -> Draft:
    """Complete a spec that lacks `io` and has a kernel_type and a kernel_name; `files`: the texts
    of its `kernel.files`."""
    try:
        found = _kernel(data, with_headers(source, files or {}))
    except RecursionError as error:
        raise SpecError("the source is nested too deeply to be read") from error
    arguments = [_argument(a) for a in found.arguments]
    if not any(isinstance(a, ArrayArgument) and a.role != "input" for a in found.arguments):
        raise SpecError(
            f"`{found.name}` has no argument that it could write a result to",
            next_step="write `io` by hand; kernelwright spec --schema prints every field",
        )
    io: Json = {"arguments": arguments}
    if not found.deterministic:
        io["deterministic"] = False
    kernel = dict(data["kernel"])
    if found.launch is not None and not kernel.get("launch") and not kernel.get("plan"):
        kernel["launch"] = dict(found.launch)
    symbols = {**dict.fromkeys(found.symbols), **_mapping(data.get("symbols"))}
    values = {name: found.symbols.get(name) for name in symbols}
    usual = {name: OPEN if value is None else value for name, value in values.items()}
    made: Json = {"name": data.get("name"), "kernel": kernel, "io": io, "symbols": symbols}
    made["workloads"] = data.get("workloads") or [{"name": "default", "symbols": usual}]
    if parameters := _parameters(found, data):
        made["parameters"] = parameters
    made["reference"] = "baseline"
    made = {**made, **{k: v for k, v in data.items() if k not in made or k == "reference"}}
    if made["name"] is None:
        del made["name"]
    return Draft(made, (*found.notes, *_undecided(made, found)), files or {})


def _kernel(data: Json, source: str) -> SourceKernel:
    kernel = cast(Json, data["kernel"])
    kind, name = str(kernel["kernel_type"]), str(kernel["metadata"]["kernel_name"])
    known = Surroundings(
        source,
        threads=_threads(kernel.get("launch")),
        given=_given(data),
        macros=frozenset(_mapping(data.get("parameters"))) | set(_mapping(kernel.get("defines"))),
        entry=str(_mapping(kernel.get("launch")).get("entry") or ""),
    )
    _check_read(kind)
    found = source_kernel(known, name, kind)
    if found is not None:
        return found
    listed = _listed(entries(source, kind), inner_entries(source, kind)) or "none found"
    raise SpecError(f"kernel.metadata.kernel_name: no entry `{name}` in the source", valid=listed)


def _listed(outer: Sequence[str], inner: Sequence[str]) -> str:
    """Names of functions, those that others call behind the rest."""
    called = f"called by these: {', '.join(inner)}" if inner else ""
    return "; ".join(part for part in (", ".join(outer), called) if part)


def _check_read(kind: KernelType) -> None:
    """Raises SpecError for a language whose sources nothing here reads."""
    if not is_read(kind):
        read = [each.title for each in LANGUAGES.values() if is_read(each.kernel_type)]
        raise SpecError(
            f"what a kernel in {LANGUAGES[kind].title} takes is not read from its source",
            valid=f"that of {', '.join(read)}",
            next_step="write its spec with `io`: kernelwright spec --schema prints every field",
        )


def _only(name: str, found: tuple[str, ...], inner: tuple[str, ...]) -> str:
    if not found:
        raise SpecError(
            f"no kernel found in {name}",
            valid="a `__global__` function, a `@triton.jit` function or one that launches it, "
            "a C++ function that takes pointers",
        )
    first, *others = found
    if others:
        raise SpecError(
            f"{name} holds {len(found)} functions that could be the entry",
            valid=_listed(found, inner),
            next_step="name the one that takes the time: --kernel "
            f"{(*inner, first)[0]}, or `entry` of open_kernel",
        )
    return first


def _launch_moved(data: Json) -> Json:
    """`kernel.io.launch`, where it stood once, as `kernel.launch`."""
    kernel = cast(Json, data["kernel"])
    if "io" not in kernel:
        return data
    older = kernel["io"]
    if not isinstance(older, dict) or set(cast(Json, older)) - {"launch"}:
        raise SpecError(
            "kernel.io holds more than `launch`" if isinstance(older, dict) else "kernel.io",
            valid="arguments stand in `io` beside `kernel`, the launch in kernel.launch",
        )
    launch, given = cast(Json, older).get("launch"), kernel.get("launch")
    if launch is not None and given is not None and launch != given:
        raise SpecError(
            "kernel.launch and kernel.io.launch differ",
            valid="kernel.launch alone; kernel.io.launch is its older place",
            next_step="leave kernel.io out",
        )
    rest = {k: v for k, v in kernel.items() if k != "io"}
    return {**data, "kernel": rest if launch is None else {**rest, "launch": launch}}


def _argument(argument: ArrayArgument | ScalarArgument) -> Json:
    made: Json = {"name": argument.name}
    if isinstance(argument, ScalarArgument):
        value = OPEN if argument.value is None else argument.value
        return made | {"role": "scalar", "dtype": argument.dtype or OPEN, "value": value}
    made |= {"role": argument.role or OPEN, "dtype": argument.dtype or OPEN}
    made["shape"] = [OPEN] if argument.shape is None else list(argument.shape)
    return made | ({"init": argument.init} if argument.init else {})


def _undecided(made: Json, found: SourceKernel) -> list[str]:
    """A line for each `?`, and for nothing else."""
    lines = list[str]()
    launch = _mapping(made["kernel"].get("launch"))
    for place in ("grid", "block"):
        if launch.get(place) == [OPEN]:
            lines.append(f"kernel.launch.{place}: {ASKED[place]}")
    for name, value in _mapping(launch.get("constexprs")).items():
        if value == OPEN:
            lines.append(f"kernel.launch.constexprs.{name}: {ASKED['constexprs']}")
    for argument, entry in zip(found.arguments, made["io"]["arguments"], strict=True):
        for place, asked in ASKED.items():
            if entry.get(place) in (OPEN, [OPEN]):
                why = f" ({argument.why[place]})" if place in argument.why else ""
                lines.append(f"io.arguments.{argument.name}.{place}: {asked}{why}")
    for workload in made["workloads"]:
        for name, value in _mapping(_mapping(workload).get("symbols")).items():
            if value == OPEN:
                where = f"workloads.{workload['name']}.symbols.{name}"
                lines.append(f"{where}: the value of `{name}` in a call that really occurs")
    return lines


def _parameters(found: SourceKernel, data: Json) -> Json:
    """Tunable values that the spec neither declares nor fixes in its launch."""
    kernel = cast(Json, data["kernel"])
    fixed = set(_mapping(_mapping(kernel.get("launch")).get("constexprs")))
    fixed |= set(_mapping(kernel.get("defines")))
    made: Json = {
        name: {"values": list(values), "default": start}
        for name, (values, start) in found.parameters.items()
        if name not in fixed
    }
    return made | _mapping(data.get("parameters"))


def _threads(launch: object) -> int | None:
    """Threads of a launch along x; None when it has other axes or is not given in numbers."""
    count = 1
    for place in ("grid", "block"):
        axes = _axes(_mapping(launch).get(place))
        if not axes or any(type(size) is not int for size in axes) or set(axes[1:]) - {1}:
            return None
        count *= cast(int, axes[0])
    return count


def _axes(value: object) -> list[object]:
    if isinstance(value, dict):
        given = cast(Json, value)
        return [given.get(axis, 1) for axis in "xyz"]
    return list(cast(list[object], value)) if isinstance(value, list) else [value]


def _given(data: Json) -> frozenset[str]:
    """Symbols that every workload of the spec binds."""
    workloads = data.get("workloads")
    listed = cast(list[object], workloads) if isinstance(workloads, list) else []
    bound = [set(_mapping(_mapping(w).get("symbols"))) for w in listed]
    return frozenset(set[str].intersection(*bound)) if bound else frozenset()


def _mapping(value: object) -> Json:
    return cast(Json, value) if isinstance(value, dict) else {}


def _without_long_source(data: Json) -> Json:
    kernel = cast(Json, data["kernel"])
    code = kernel.get("source_code")
    if not isinstance(code, str) or len(code) <= SHOWN_SOURCE:
        return data
    return {**data, "kernel": {**kernel, "source_code": f"({len(code)} characters, as given)"}}
