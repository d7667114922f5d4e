"""What makes a kernel the same kernel: its content, wherever it lies and however files are called.

A store knows a kernel by a hash of this, and a search goes on where its store knows the kernel. A
field that a spec does not set must not change it: those that came after the first stores count
only where they say something. Whoever gives specs a new field names it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

PLACES = ("source_name", "source_path", "include_dirs", "init_files", "lifted_reference")
"""fields of a loaded kernel that say where its files lie, or follow from the others; names in
`files` count, as the source includes by them"""
LATER = ("include_hashes", "environment")
"""fields of a loaded kernel that came later"""
RUN = ("weight",)
"""fields of a spec that say something of a run, and nothing of the kernel"""
LATER_OF_IO = ("allow",)
LATER_OF_INIT = ("constant", "reason", "data")


def content_of(kernel: Mapping[str, Any]) -> dict[str, Any]:
    """What counts of a `LoadedKernel` that was written as JSON data."""
    spec, io = kernel["spec"], kernel["spec"]["io"]
    arguments = [{**a, "init": _init(a["init"])} for a in io["arguments"]]
    return _without_silent(_without(kernel, PLACES), LATER) | {
        "spec": {
            **_without(spec, RUN),
            # its own environment is part of that of the processes, which counts
            "kernel": _without(spec["kernel"], ("source_code", "source_path", "environment")),
            "reference": _reference(spec["reference"]),
            "io": _without_silent(io, LATER_OF_IO) | {"arguments": arguments},
        },
    }


def _init(init: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if init is None else _without_silent(_without(init, ("path",)), LATER_OF_INIT)


def _reference(reference: str | Mapping[str, Any]) -> str | dict[str, Any]:
    if isinstance(reference, str):
        return reference
    return _without(reference, ("source_code", "source_path"))


def _without(part: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: value for name, value in part.items() if name not in set(names)}


def _without_silent(part: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Without those of these fields that are empty."""
    return _without(part, [name for name in names if not part[name]])
