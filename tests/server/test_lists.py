"""The lists are told before the tools are loaded, and say what the tools say."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from write_lists import PATH, made


def test_the_kept_lists_are_those_that_tools_and_resources_make() -> None:
    kept = PATH.read_text(encoding="utf-8")
    assert kept == made(), "the lists have changed: python tests/support/write_lists.py"


@pytest.fixture(scope="module")
def started() -> dict[str, list[str]]:
    """What a process has loaded once it could tell a client its lists, and which of the SDK's
    models of one version of the protocol it has made."""
    asked = (
        "import json, sys; from pathlib import Path; import kernelwright.server.cli\n"
        "from kernelwright.server.protocol.sdk_models import made_when_used\n"
        "with made_when_used(): from kernelwright.server.app import Application, desk_of\n"
        "from kernelwright.server.protocol.kept_lists import kept_lists\n"
        "Application(desk_of(Path('state'), [Path()], ())); assert kept_lists().tools\n"
        "import mcp_types._v2025_11_25 as wire; from pydantic import BaseModel\n"
        "class Later(BaseModel): x: int\n"
        "models = [m for m in (*vars(wire).values(), Later) if hasattr(m, 'model_fields')]\n"
        "made = [m.__name__ for m in models if m.__pydantic_complete__]\n"
        "names = [m.__name__ for m in models]\n"
        "print(json.dumps({'modules': [*sys.modules], 'models': names, 'made': made}))"
    )
    said = subprocess.run(
        [sys.executable, "-c", asked],
        env=os.environ | {"KERNELWRIGHT_BROKER": "on"},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return json.loads(said.stdout)


def test_a_server_that_starts_loads_neither_the_tools_nor_what_performs_them(
    started: dict[str, list[str]],
) -> None:
    heavy = ("tools", "search", "store", "evaluation", "analysis")
    beginnings = tuple(f"kernelwright.{each}" for each in heavy)
    assert [name for name in started["modules"] if name.startswith(beginnings)] == []


def test_it_makes_no_model_of_the_protocol_that_it_does_not_use_and_others_as_ever(
    started: dict[str, list[str]],
) -> None:
    models, made = set(started["models"]), set(started["made"])
    assert len(models) > 100
    assert len(made) < len(models) / 4
    assert "Later" in made
