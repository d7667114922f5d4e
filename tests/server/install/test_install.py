"""`kernelwright install`: what is written for each client, and what it leaves alone."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

from kernelwright.runners.errors import SpecError
from kernelwright.server import cli
from kernelwright.server.install.clients import CLIENTS, NAME, launch_of
from kernelwright.server.install.settings_files import with_server

CLIENT = pytest.mark.parametrize("client", CLIENTS, ids=lambda each: each.name)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("XDG_CONFIG_HOME", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def installed(project: Path, name: str, *more: str) -> str:
    done = CliRunner().invoke(cli.app, ["install", name, "--project", str(project), *more])
    assert done.exit_code == 0, done.output
    return done.output


def servers(text: str, form: str, under: str) -> dict[str, Any]:
    return (json.loads(text) if form == "json" else tomllib.loads(text))[under]


@CLIENT
def test_the_server_is_shown_then_written_with_absolute_paths(
    client: Any, tmp_path: Path, home: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    path = client.settings(project, home)
    assert "nothing was written" in installed(project, client.name, "--dry-run")
    assert not path.exists()
    said = installed(project, client.name)
    assert str(path) in said and "--outdir" in said and client.then in said
    entry = servers(path.read_text("utf-8"), client.form, client.under)[NAME]
    assert Path(entry["command"]).is_absolute()
    args = entry["args"]
    assert args[args.index("--root") + 1] == str(project)
    assert args[args.index("--outdir") + 1] == str(project / ".kernelwright")
    assert "nothing to do" in installed(project, client.name)


@CLIENT
def test_other_servers_and_settings_stay(client: Any, tmp_path: Path) -> None:
    launch = launch_of(tmp_path, None, (), "0,1")
    before = (
        json.dumps({"theme": "dark", client.under: {"other": {"command": "x"}, NAME: {"old": 1}}})
        if client.form == "json"
        else f'model = "o"\n[{client.under}.{NAME}]\ncommand = "old"\n\n'
        f'[{client.under}.other]\ncommand = "x"\n'
    )
    after = with_server(client, tmp_path / "f", before, launch)
    found = servers(after, client.form, client.under)
    assert found["other"] == {"command": "x"} and "old" not in str(found[NAME])
    assert found[NAME]["args"][-2:] == ["--gpus", "0,1"]
    assert "dark" in after or "model" in after
    assert with_server(client, tmp_path / "f", after, launch) == after


@CLIENT
def test_a_file_of_another_form_is_left_alone_and_told_what_to_add(
    client: Any, tmp_path: Path
) -> None:
    text = '{ // a comment\n "a": 1 }' if client.form == "json" else "a = [\n"
    with pytest.raises(SpecError, match="add this by hand") as caught:
        with_server(client, tmp_path / "f", text, launch_of(tmp_path, None, (), ""))
    assert NAME in str(caught.value) and "serve" in str(caught.value)


def test_a_client_that_does_as_the_file_says_finds_the_tools(tmp_path: Path, home: Path) -> None:
    installed(tmp_path, "claude-code")
    entry = json.loads((tmp_path / ".mcp.json").read_text("utf-8"))["mcpServers"][NAME]

    async def tools() -> list[str]:
        server = StdioServerParameters(command=entry["command"], args=entry["args"], cwd="/")
        async with Client(server) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "open_kernel" in anyio.run(tools)
