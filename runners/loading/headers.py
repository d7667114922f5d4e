"""Folders of headers that a kernel includes from: what they held when it was opened.

A spec's `include_dirs` are not copied (a library may have thousands of files); their headers are
hashed, and a build with other ones is refused: it would be another kernel under the same name.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from ..errors import SpecError

SUFFIXES = frozenset(".h .hh .hpp .hxx .h++ .cuh .inc .inl .ipp .tpp .tcc .def".split())
MAX_FILES = 20000
MAX_TEXT = 4 << 20
_SNIFFED = 1024


def folder_hash(folder: Path) -> str:
    """Hash of the names and contents of all headers beneath a folder.

    Headers are files with a usual suffix, and texts without any (as Eigen has them). Hidden
    folders are left out. Raises SpecError for a folder with too many files.
    """
    found = hashlib.sha256()
    for path in _headers(folder):
        status = path.stat()
        content = _content_hash(str(path), status.st_ino, status.st_size, status.st_mtime_ns)
        found.update(f"{path.relative_to(folder)}\0{content}\n".encode(errors="surrogateescape"))
    return found.hexdigest()[:32]


def require_unchanged(folders: Sequence[str], hashes: Sequence[str]) -> None:
    """Raises SpecError when a folder's headers are not those of the hash taken of it before."""
    for folder, known in zip(folders, hashes, strict=True):
        try:
            unchanged = folder_hash(Path(folder)) == known
        except OSError as error:
            raise _changed(folder, f"{error.filename}: {error.strerror}") from error
        if not unchanged:
            raise _changed(folder, _newest(Path(folder)))


def _changed(folder: str, what: str) -> SpecError:
    return SpecError(
        f"headers beneath {folder} are not those with which the kernel was opened ({what})",
        next_step="open the kernel again (open_kernel): with other headers it is another kernel; "
        "or put them back as they were",
    )


def _newest(folder: Path) -> str:
    newest = max(_headers(folder), key=lambda path: path.stat().st_mtime_ns, default=None)
    return "there are none any more" if newest is None else f"changed last: {newest.name}"


def _headers(folder: Path) -> Iterator[Path]:
    """In a fixed order."""
    seen = 0
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        seen += len(names)
        if seen > MAX_FILES:
            raise SpecError(
                f"kernel.include_dirs: there are more than {MAX_FILES} files beneath {folder}",
                next_step="name the folder that holds the headers themselves",
            )
        for path in (Path(parent, name) for name in sorted(names)):
            if path.is_file() and (path.suffix in SUFFIXES or _is_plain_text(path)):
                yield path


def _is_plain_text(path: Path) -> bool:
    if path.suffix or path.name.startswith(".") or path.stat().st_size > MAX_TEXT:
        return False
    with path.open("rb") as file:
        return b"\0" not in file.read(_SNIFFED)


@lru_cache(maxsize=4 * MAX_FILES)
def _content_hash(path: str, inode: int, size: int, changed_ns: int) -> str:
    """Of a file that is still the one it was when it was read, as far as its status tells."""
    del inode, size, changed_ns
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
