"""The clients that the server can be installed for: where their settings lie, and in what form.

A new client is a row of CLIENTS.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...runners.errors import SpecError

NAME = "kernelwright"
TIMEOUT_S = 120
"""of a call, where a client can be told: ours end within 60 s"""
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Launch:
    """How a client starts the server."""

    command: str
    args: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Client:
    """A client by name. `settings` tells where its file lies, of a project and a home."""

    name: str
    title: str
    settings: Callable[[Path, Path], Path]
    form: Literal["json", "toml"]
    under: str
    """the key of the file that holds servers by name"""
    entry: Callable[[Launch], Json]
    then: str
    """what the user does next"""


def launch_of(project: Path, outdir: Path | None, roots: tuple[Path, ...], gpus: str) -> Launch:
    """The server of this installation over one project, by absolute paths: some clients start it
    in `/`, and with a PATH of their own."""
    script = Path(sys.executable).parent / NAME
    module = ("-m", "kernelwright.server")
    command, before = (str(script), ()) if script.is_file() else (sys.executable, module)
    state = (outdir or project / ".kernelwright").absolute()
    allowed = tuple(each.absolute() for each in roots) or (project,)
    args = (*before, "serve", "--outdir", str(state))
    for each in allowed:
        args += ("--root", str(each))
    return Launch(command, (*args, "--gpus", gpus) if gpus else args)


def _desktop(_: Path, home: Path) -> Path:
    folder = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "Claude"
    return folder / "claude_desktop_config.json"


def _codex(_: Path, home: Path) -> Path:
    return Path(os.environ.get("CODEX_HOME") or home / ".codex") / "config.toml"


def _plain(launch: Launch) -> Json:
    return {"command": launch.command, "args": list(launch.args)}


CLIENTS: tuple[Client, ...] = (
    Client(
        "claude-code",
        "Claude Code",
        lambda project, _: project / ".mcp.json",
        "json",
        "mcpServers",
        lambda launch: {"type": "stdio", **_plain(launch), "timeout": TIMEOUT_S * 1000},
        "start `claude` in the project and approve the server; /mcp shows it",
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        _desktop,
        "json",
        "mcpServers",
        _plain,
        "quit Claude Desktop and start it again",
    ),
    Client(
        "cursor",
        "Cursor",
        lambda project, _: project / ".cursor" / "mcp.json",
        "json",
        "mcpServers",
        _plain,
        "enable it in Cursor's settings, under MCP",
    ),
    Client(
        "vscode",
        "Visual Studio Code",
        lambda project, _: project / ".vscode" / "mcp.json",
        "json",
        "servers",
        lambda launch: {"type": "stdio", **_plain(launch)},
        "open the project, and start the server from .vscode/mcp.json",
    ),
    Client(
        "codex",
        "Codex",
        _codex,
        "toml",
        "mcp_servers",
        lambda launch: {**_plain(launch), "tool_timeout_sec": TIMEOUT_S},
        "start `codex`; /mcp shows it",
    ),
)


def client_named(name: str) -> Client:
    """A client by its name. Raises SpecError for an unknown one."""
    for each in CLIENTS:
        if each.name == name:
            return each
    raise SpecError(
        f"`{name}` is no client that can be installed for",
        valid=", ".join(each.name for each in CLIENTS),
        next_step="any client that starts a program takes the command that "
        "`kernelwright install claude-code --dry-run` shows",
    )
