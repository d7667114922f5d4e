"""Names of kernels as people write them: `c++filt`, where it is there."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

MANGLED = "_Z"


def readable_names(names: Sequence[str]) -> dict[str, str]:
    """Each name demangled; as it is where nothing can do that."""
    mangled = [name for name in dict.fromkeys(names) if name.startswith(MANGLED)]
    tool = shutil.which("c++filt") or shutil.which("cu++filt")
    if not mangled or tool is None:
        return {}
    done = subprocess.run(
        [tool], input="\n".join(mangled), capture_output=True, text=True, timeout=60, check=False
    )
    found = done.stdout.splitlines()
    return dict(zip(mangled, found, strict=True)) if len(found) == len(mangled) else {}
