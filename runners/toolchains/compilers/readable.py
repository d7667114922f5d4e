"""Which files a compiler's messages may quote."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

SYSTEM = tuple(map(Path, ("/usr/include", "/usr/local/include", "/usr/lib/gcc", "/usr/lib/llvm")))
"""headers of the system: compilers explain errors by their lines"""


class Readable:
    """Whether a file, by its name in a message, may be quoted: the kernel's own in the folder of
    the build, headers of the system, and what lies beneath `others` (what its spec names, and what
    came with the compiler). A name need not be that of the file that was read (`#line`), but it is
    the one that an excerpt is taken from."""

    def __init__(self, folder: Path, others: Iterable[Path]) -> None:
        self._folder = folder.resolve()
        self._beneath = (self._folder, *SYSTEM, *(path.resolve() for path in others))

    def __call__(self, name: str) -> bool:
        place = (self._folder / name).resolve()
        return any(place.is_relative_to(each) for each in self._beneath)
