"""A GPU that is not there: what the device tier uses of `cuda.bindings.driver`.

Names and answers are those of the binding: each call returns a tuple that begins with a CUresult.
Memory, queue, events and graphs are in C++ (`runtime/driver.cpp`), which `native.py` calls with
numbers; each file beside this one answers for one subject. What is not here is not pretended, and
says so. Settings come from the environment: PRETEND_GPU_TWINS (folder of twins),
PRETEND_GPU_MEMORY (bytes), PRETEND_GPU_COUNT.
"""

# ruff: noqa: F403  # the binding's module is one: this file has the names of all

from __future__ import annotations

from typing import NoReturn

from .code import *
from .devices import *
from .memory import *
from .queue import *
from .words import *


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"the pretended driver has no `{name}`: write it in pretend_gpu/shadow, or mark the "
        "test that needs it `gpu`"
    )
