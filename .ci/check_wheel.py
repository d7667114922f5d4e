"""Compare a source tree with the wheel built from it: `check_wheel.py SOURCE WHEEL`.

Every file of a package folder must be in the wheel, nested packages and data files included,
and nothing may lie outside `kernelwright/`.
"""

from __future__ import annotations

import sys
import tomllib
import zipfile
from pathlib import Path


def main(source: Path, wheel: Path) -> int:
    """The number of files that are missing or out of place."""
    project = tomllib.loads((source / "pyproject.toml").read_text(encoding="utf-8"))
    packages: list[str] = project["tool"]["setuptools"]["packages"]
    elsewhere: dict[str, str] = project["tool"]["setuptools"]["package-dir"]
    names = {".".join(package.split(".")[:2]) for package in packages}
    folders = {n: source / elsewhere[n] for n in names}
    wanted = {
        f"{name.replace('.', '/')}/{file.relative_to(folder)}"
        for name, folder in folders.items()
        for file in folder.rglob("*")
        if file.is_file()
    }
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    for name in sorted(wanted - inside):
        print(f"missing from the wheel: {name}")
    for name in sorted(inside - wanted):
        print(f"should not be in the wheel: {name}")
    print(f"{len(inside)} files in {wheel.name}")
    return len(wanted ^ inside)


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1]), Path(sys.argv[2])), 1))
