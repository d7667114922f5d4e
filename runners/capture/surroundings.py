"""What a source finds around it while it is captured: a Python that says nothing of who runs it.

A kernel that behaves in one way where it is judged and in another where it is used has to tell the
two apart. Names, arguments and variables of this process are those of any Python, and modules of
ours are in no table while code of the source runs. Frames remain (`screens/python_rows.py` blocks
who asks for them), and the folder that it lies in.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import ModuleType

from ..forking.command_line import show_as

PLAIN = "python3"
OURS = __name__.partition(".")[0]
KEPT = frozenset(
    "PATH HOME LANG LANGUAGE TZ TMPDIR LD_LIBRARY_PATH CUDA_HOME CUDA_PATH XDG_CACHE_HOME "
    "OMP_NUM_THREADS MKL_NUM_THREADS OPENBLAS_NUM_THREADS GLIBC_TUNABLES".split()
)
"""variables that tools of a build need, besides LC_* and TRITON_*"""
PR_SET_NAME = 15


def become_plain() -> None:
    """Take away what tells this process from any other Python, for good."""
    for name in list(os.environ):
        if name not in KEPT and not name.startswith(("LC_", "TRITON_")):
            del os.environ[name]
    sys.argv[:], sys.orig_argv[:] = [""], [PLAIN]
    ctypes.CDLL(None).prctl(PR_SET_NAME, PLAIN.encode(), 0, 0, 0)
    show_as([PLAIN])


@contextmanager
def unnamed() -> Generator[None]:
    """Modules of ours are not found by their names meanwhile; who holds them has them."""
    hidden = dict[str, ModuleType]()
    for name in list(sys.modules):
        if OURS in name:  # what finds us where we are installed from a folder has our name, too
            hidden[name] = sys.modules.pop(name)
    try:
        yield
    finally:
        sys.modules.update(hidden)
