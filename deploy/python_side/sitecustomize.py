"""Loaded by every Python process of a program of the user's, before its own code.

Once torch is there, the winners of the folder KERNELWRIGHT_DEPLOY take their operators' places. One
that is refused is told on the standard error, and the program goes on without it. With
KERNELWRIGHT_WATCH, operators are counted (`watching.py`).
"""

# pyright: basic
from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys

PLACE, WATCHED = os.environ.get("KERNELWRIGHT_DEPLOY", ""), os.environ.get("KERNELWRIGHT_WATCH", "")
HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = "kernelwright_deploy"
"""The loader by another name, from its own folder: the program's Python may have no other."""


def _load():
    folder = os.path.dirname(HERE)
    file = os.path.join(folder, "__init__.py")
    spec = importlib.util.spec_from_file_location(
        PACKAGE, file, submodule_search_locations=[folder]
    )
    assert spec is not None and spec.loader is not None
    sys.modules[PACKAGE] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


def _after_torch():
    _load()
    if PLACE:
        _install()
    if WATCHED:
        importlib.import_module(PACKAGE + ".watching").watch_process()


def _install():
    from pathlib import Path

    aten = importlib.import_module(PACKAGE + ".aten")
    reading = importlib.import_module(PACKAGE + ".reading")
    for folder in aten.folders_in(Path(PLACE)):
        try:
            aten.install(folder)
        except reading.Refused as error:
            print(f"kernelwright: {folder.name} is not installed: {error}", file=sys.stderr)


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Lets torch be loaded as it is, and installs afterwards."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            _after_torch()

        spec.loader.exec_module = exec_module
        return spec


def _next_sitecustomize():
    """The environment's own, which ours stands in front of."""
    for folder in sys.path:
        file = os.path.join(folder, "sitecustomize.py")
        if os.path.abspath(folder or ".") != HERE and os.path.exists(file):
            spec = importlib.util.spec_from_file_location("_next_sitecustomize", file)
            if spec is not None and spec.loader is not None:
                spec.loader.exec_module(importlib.util.module_from_spec(spec))
            return


if (PLACE or WATCHED) and __name__ == "sitecustomize":
    sys.meta_path.insert(0, _AfterTorch())
    _next_sitecustomize()
