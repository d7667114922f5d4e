"""A C++ name of a CUDA kernel where a spec has its entry: `ns::kernel<float, 4>`."""

from __future__ import annotations

import re
from typing import Any, cast

from ..errors import SpecError
from ..languages import KERNEL_TYPES, LANGUAGES

Json = dict[str, Any]
CPP_NAME = re.compile(r"(?:[A-Za-z_]\w*\s*::\s*)*(?P<base>[A-Za-z_]\w*)\s*(?:<.*>)?", re.DOTALL)


def with_entry(data: Json) -> Json:
    """A spec whose `kernel_name` is a C++ name: its last part stays, and the launch gets the whole.

    A plan names its kernels itself, so there the last part is enough. Other kernels, and names that
    are none, go through unchanged: the spec's model names their faults. Raises SpecError where the
    launch names another entry.
    """
    kernel = cast(Json, data["kernel"])
    metadata, kind = kernel.get("metadata"), kernel.get("kernel_type")
    name = cast(Json, metadata).get("kernel_name") if isinstance(metadata, dict) else None
    planned = kind in KERNEL_TYPES and LANGUAGES[kind].planned
    if not planned or not isinstance(name, str) or re.fullmatch(r"\w+", name):
        return data
    match, launch = CPP_NAME.fullmatch(name.strip()), kernel.get("launch")
    if match is None:
        return data
    changed = {**kernel, "metadata": {**cast(Json, metadata), "kernel_name": match["base"]}}
    if isinstance(launch, dict):
        entry = cast(Json, launch).get("entry", name)
        if entry != name:
            raise SpecError(
                f"kernel.metadata.kernel_name is `{name}`, kernel.launch.entry `{entry}`",
                valid="one of them: kernel_name takes a C++ name, or launch.entry has it and "
                f"kernel_name is `{match['base']}`",
            )
        changed["launch"] = {**cast(Json, launch), "entry": name.strip()}
    return {**data, "kernel": changed}
