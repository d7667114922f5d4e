"""Faults that lie in a kernel's reference: opening it is refused, and no other kernel notices."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ReferenceFault:
    """The source of a reference, and words of the ReferenceFailed that it must end in."""

    name: str
    source: str
    words: str
    heavy: bool = False


def _of(name: str, body: str, words: str) -> ReferenceFault:
    return ReferenceFault(f"reference {name}", f"def reference(x, n):\n    {body}\n", words)


REFERENCES: tuple[ReferenceFault, ...] = (
    ReferenceFault("reference does not load", "import no_such_module\n", "no_such_module"),
    _of("raises", "raise ValueError('never')", "ValueError: never"),
    _of("raises natively", "return x if x.dtype == 'f8' else 1 / 0", "ZeroDivisionError"),
    _of("returns another shape", "return x[:1]", "returned `y` with shape"),
    _of("ends its process", "import os; os._exit(3)", "exit status 3"),
    _of("reads through null", "import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    _of("takes all memory", "import numpy as np; np.zeros(1 << 50)", "MemoryError"),
    _of(
        "patches numpy and raises",
        "import numpy as np; np.isfinite = np.isnan = None; raise ValueError('patched')",
        "patched",
    ),
)
