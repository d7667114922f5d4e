"""A copy of the product that something is added to, with a Python that imports the copy."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from import_graph import FOLDERS, ROOT


@dataclass(frozen=True)
class Product:
    """A copy of the product's folders. `home`: where its Python works."""

    home: Path
    folder: Path
    python: Path

    def write(self, path: str, text: str) -> None:
        """Add a file."""
        (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / path).write_text(text, encoding="utf-8")

    def insert(self, path: str, text: str, *, before: str) -> None:
        """Add to a file, before the only place that reads like this."""
        known = (self.folder / path).read_text(encoding="utf-8")
        assert known.count(before) == 1, f"{path} has {known.count(before)} times {before!r}"
        at = known.index(before)
        self.write(path, known[:at] + text + known[at:])

    def runs(self, *words: str) -> subprocess.CompletedProcess[str]:
        """What its Python does with these words. No folder that ours was told to look through
        first (`PYTHONPATH`) comes before the copy, and our reports are not its own."""
        ours = ("PYTHONPATH", "PYTEST_ADDOPTS")
        told = {name: value for name, value in os.environ.items() if name not in ours}
        return subprocess.run(
            [self.python, *words],
            cwd=self.home,
            env=told,
            capture_output=True,
            text=True,
            timeout=300,
        )


def copied(home: Path) -> Product:
    """A fresh copy beneath `home`, its bytecode with it: files keep their times."""
    folder = home / "copy" / "kernelwright"
    for each in FOLDERS:
        shutil.copytree(ROOT / each, folder / each)
    return Product(home, folder, _python_with(folder.parent, home / "venv"))


def _python_with(product: Path, home: Path) -> Path:
    """A Python that has what ours has, and another copy of the product before ours."""
    venv.EnvBuilder(symlinks=True).create(home)
    ours = sysconfig.get_path("purelib")
    theirs = sysconfig.get_path("purelib", vars={"base": str(home), "platbase": str(home)})
    (Path(theirs) / "copy.pth").write_text(f"{product}\n{ours}\n", encoding="utf-8")
    return home / "bin" / "python"
