"""Which kernels of public repositories `public_kernels.py` looks at: drawn by a seed from all that
their files hold, one of a folder. Names alone stand here and in results, none of their text.

Folders of HeCBench from a to m and llm.c are what reading, writing and inference are developed on;
folders from n to z are held out."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelwright.runners.inferring.readers import entries

_OWN_HEADER = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.MULTILINE)
SEED = 17


@dataclass(frozen=True)
class Corpus:
    """Of which files of which repository how many kernels are drawn."""

    repository: str
    commit: str
    licence: str
    files: str
    """a pattern of paths from the root of a checkout"""
    folders: str
    """first letters of the folders' names; empty: all"""
    kernels: int
    kind: str
    """developed or held out"""
    a_folder: int = 1
    """kernels of one folder, at most"""

    @property
    def told(self) -> dict[str, Any]:
        """What a result says of it."""
        return {
            "repository": self.repository,
            "commit": self.commit,
            "licence": self.licence,
            "kind": self.kind,
            "seed": SEED,
        }


_HECBENCH = Corpus(
    repository="https://github.com/zjin-lcf/HeCBench",
    commit="f27000a5188f8ac79bd43fc95a1b3f890c18823d",
    licence="BSD-3-Clause; some folders have their own",
    files="src/*-cuda/*.cu",
    folders="abcdefghijklm",
    kernels=60,
    kind="developed",
)
CORPORA = {
    "hecbench_a_to_m": _HECBENCH,
    "hecbench_n_to_z": replace(_HECBENCH, folders="nopqrstuvwxyz", kernels=40, kind="held out"),
    "llm_c": Corpus(
        repository="https://github.com/karpathy/llm.c",
        commit="f1e2ace651495b74ae22d45d1723443fd00ecd3a",
        licence="MIT",
        files="dev/cuda/*.cu",
        folders="",
        kernels=30,
        kind="developed",
        a_folder=30,
    ),
}


@dataclass(frozen=True)
class Drawn:
    """A kernel by its name, and the file that holds or includes it, from the root."""

    file: str
    kernel: str

    @property
    def name(self) -> str:
        """The file's folder and name, and the kernel's."""
        return f"{'/'.join(Path(self.file).parts[-2:])} {self.kernel}"


def drawn_of(checkout: Path, corpus: Corpus) -> list[Drawn]:
    """The kernels of a corpus, in the order of their files. Raises FileNotFoundError where the
    checkout has none of its files."""
    folders = dict[str, list[Drawn]]()
    for file in sorted(checkout.glob(corpus.files)):
        folder = file.parent.name
        if not corpus.folders or folder[0].lower() in corpus.folders:
            folders.setdefault(folder, []).extend(_kernels(file, checkout))
    if not folders:
        raise FileNotFoundError(f"{checkout} has no {corpus.files} of {corpus.repository}")
    chance = random.Random(SEED)
    order = sorted(name for name, kernels in folders.items() if kernels)
    chance.shuffle(order)
    found = list[Drawn]()
    for name in order:
        by_name = {each.kernel: each for each in folders[name]}
        some = sorted(by_name.values(), key=lambda each: each.kernel)
        found += chance.sample(some, min(corpus.a_folder, len(some)))
    return sorted(found[: corpus.kernels], key=lambda each: (each.file, each.kernel))


def _kernels(file: Path, checkout: Path) -> Iterator[Drawn]:
    """Those that a file defines or includes from beside it."""
    text = file.read_text(encoding="utf-8", errors="replace")
    headers = [file.parent / name for name in _OWN_HEADER.findall(text)]
    texts = [h.read_text(encoding="utf-8", errors="replace") for h in headers if h.is_file()]
    for name in dict.fromkeys(n for each in (text, *texts) for n in entries(each, "cuda")):
        yield Drawn(str(file.relative_to(checkout)), name)
