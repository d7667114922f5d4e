"""The lists are told before the tools are loaded, and say what the tools say."""

from __future__ import annotations

import os
import subprocess
import sys

from write_lists import PATH, made


def test_the_kept_lists_are_those_that_tools_and_resources_make() -> None:
    kept = PATH.read_text(encoding="utf-8")
    assert kept == made(), "the lists have changed: python tests/support/write_lists.py"


def test_a_server_that_starts_loads_neither_the_tools_nor_what_performs_them() -> None:
    asked = (
        "import sys; from pathlib import Path; import kernelwright.server.cli; "
        "from kernelwright.server.app import Application, desk_of; "
        "from kernelwright.server.protocol.kept_lists import kept_lists; "
        "Application(desk_of(Path('state'), [Path()], ())); assert kept_lists().tools; "
        "heavy = ('tools', 'search', 'store', 'evaluation', 'analysis'); "
        "print([m for m in sys.modules if m.startswith(tuple('kernelwright.' + h for h in heavy))])"
    )
    said = subprocess.run(
        [sys.executable, "-c", asked],
        env=os.environ | {"KERNELWRIGHT_BROKER": "on"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert said.stdout.strip() == "[]"
