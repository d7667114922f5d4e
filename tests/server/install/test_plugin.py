"""What is shipped for clients beside the wheel: plugin, bundle, registry entry."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from kernelwright.runners.version import __version__
from kernelwright.tools import TOOLS

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "plugin"
SKILLS = sorted(PLUGIN.glob("skills/*/SKILL.md"))
PORTABLE = {"name", "description", "license", "compatibility", "metadata", "allowed-tools"}
MOST_SKILLS, LONGEST_DESCRIPTION = 3, 1024
"""every session pays for the descriptions"""


def data(path: str) -> dict[str, Any]:
    return json.loads((ROOT / path).read_text("utf-8"))


def test_every_version_is_that_of_the_package() -> None:
    registry = data("server.json")
    assert {
        data("plugin/.claude-plugin/plugin.json")["version"],
        data("plugin/mcpb/manifest.json")["version"],
        registry["version"],
        *(each["version"] for each in registry["packages"]),
    } == {__version__}
    assert len(registry["description"]) <= 100
    assert f"mcp-name: {registry['name']}" in (ROOT / "README.md").read_text("utf-8")


def test_the_marketplace_names_the_plugin_that_lies_there() -> None:
    (plugin,) = data(".claude-plugin/marketplace.json")["plugins"]
    home = ROOT / plugin["source"]
    assert data(f"{home}/.claude-plugin/plugin.json")["name"] == plugin["name"]
    assert len((home / "README.md").read_text("utf-8").split()) >= 40


def test_the_bundle_has_the_picture_that_it_names() -> None:
    named = PLUGIN / "mcpb" / data("plugin/mcpb/manifest.json")["icon"]
    assert named.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("path", SKILLS, ids=lambda path: path.parent.name)
def test_a_skill_is_portable_and_names_tools_that_there_are(path: Path) -> None:
    _, front, body = path.read_text("utf-8").split("---\n", 2)
    fields = dict(line.split(": ", 1) for line in front.splitlines())
    assert fields["name"] == path.parent.name and fields.keys() <= PORTABLE
    assert len(fields["description"]) <= LONGEST_DESCRIPTION
    verbs = {tool.name for tool in TOOLS}
    named = set(re.findall(r"`((?:open|search|compile|time|propose|export|cancel|ncu)_\w+)`", body))
    assert named <= verbs | {"build_failed", "timed_out"}


def test_the_skills_are_few() -> None:
    assert 0 < len(SKILLS) <= MOST_SKILLS
