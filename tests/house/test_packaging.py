"""What an editable install forgives and a wheel does not: packages, data files, the command."""

from __future__ import annotations

import importlib
import tomllib
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
FOLDERS = (
    "analysis",
    "api",
    "deploy",
    "evaluation",
    "runners",
    "search",
    "server",
    "skills",
    "store",
    "tools",
)
CHEATS = "kernelwright.cheats"
"""the one package that lies elsewhere: it is read by `tests` as well"""
ROOT_PACKAGE = "kernelwright"
"""what `import kernelwright` reads; its folder is `package`"""
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]


def package_of(file: Path) -> str:
    return ".".join(("kernelwright", *file.parent.relative_to(ROOT).parts))


def files() -> list[Path]:
    return [
        file
        for folder in FOLDERS
        for file in sorted((ROOT / folder).rglob("*"))
        if file.is_file() and "__pycache__" not in file.parts
    ]


def test_every_package_folder_is_listed() -> None:
    found = {package_of(file) for file in files() if file.name == "__init__.py"}
    assert found | {CHEATS, ROOT_PACKAGE} == set(SETUPTOOLS["packages"])


def test_every_folder_with_modules_is_a_package() -> None:
    with_modules = {file.parent for file in files() if file.suffix == ".py"}
    assert not [folder for folder in with_modules if not (folder / "__init__.py").is_file()]


def test_every_data_file_travels_in_the_wheel() -> None:
    patterns: dict[str, list[str]] = SETUPTOOLS["package-data"]

    def travels(file: Path) -> bool:
        return any(
            fnmatch(str(file.relative_to(ROOT / Path(*package.split(".")[1:]))), pattern)
            for package, globs in patterns.items()
            if file.is_relative_to(ROOT / Path(*package.split(".")[1:]))
            for pattern in globs
        )

    assert not [file for file in files() if file.suffix != ".py" and not travels(file)]


def test_every_page_of_a_cheat_travels_in_the_wheel() -> None:
    home = ROOT / SETUPTOOLS["package-dir"][CHEATS]
    suffixes = {Path(glob).suffix for glob in SETUPTOOLS["package-data"][CHEATS]}
    found = [f for f in home.rglob("*") if f.is_file() and "__pycache__" not in f.parts]
    assert (home / "__init__.py").is_file()
    assert {f.suffix for f in found} <= suffixes


def test_every_room_is_found_by_its_folder() -> None:
    places: dict[str, str] = SETUPTOOLS["package-dir"]
    rooms = {f"kernelwright.{folder}": folder for folder in FOLDERS}
    assert places == {ROOT_PACKAGE: "package", CHEATS: "tests/cheats", **rooms}


def test_the_package_says_that_its_types_are_meant() -> None:
    assert "py.typed" in SETUPTOOLS["package-data"][ROOT_PACKAGE]
    assert (ROOT / "package" / "py.typed").is_file()


def test_the_root_is_no_package() -> None:
    assert not (ROOT / "__init__.py").exists()


def test_the_links_for_type_checkers_lead_to_every_folder() -> None:
    links = {link.name: link.resolve() for link in (ROOT / ".dev" / "kernelwright").iterdir()}
    own = {file.name: file for file in (ROOT / "package").iterdir() if file.is_file()}
    assert links == {folder: ROOT / folder for folder in FOLDERS} | own


def test_the_command_is_there() -> None:
    module, function = PROJECT["project"]["scripts"]["kernelwright"].split(":")
    assert callable(getattr(importlib.import_module(module), function))
