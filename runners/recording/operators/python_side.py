"""How what is ours comes into a program's Python: by its path, the program is not changed."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from .... import deploy

HOOK = Path(deploy.__file__).with_name("python_side")


def before_others(variables: Mapping[str, str]) -> dict[str, str]:
    """These variables, and the path on which Python finds our `sitecustomize` first."""
    others = os.environ.get("PYTHONPATH")
    return {**variables, "PYTHONPATH": f"{HOOK}:{others}" if others else str(HOOK)}
