"""A client's settings with one server more: pure, on the text of the file as it is."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any, cast

from ...runners.errors import SpecError
from .clients import NAME, Client, Json, Launch


def with_server(client: Client, path: Path, text: str, launch: Launch) -> str:
    """The text of the settings with our server in it; all else stays as it is.

    Raises SpecError where the text is not of its form (a comment in JSON), with what to add.
    """
    entry = client.entry(launch)
    if client.form == "toml":
        return _in_toml(client, path, text, entry)
    return _in_json(client, path, text, entry)


def _in_json(client: Client, path: Path, text: str, entry: Json) -> str:
    try:
        known: object = json.loads(text) if text.strip() else {}
    except ValueError as error:
        raise _unreadable(
            path, error, json.dumps({client.under: {NAME: entry}}, indent=2)
        ) from error
    if not isinstance(known, dict) or not isinstance(cast(Json, known).get(client.under, {}), dict):
        by_hand = json.dumps({client.under: {NAME: entry}}, indent=2)
        raise _unreadable(path, f"`{client.under}` is no object", by_hand)
    settings = cast(Json, known)
    servers = {**settings.get(client.under, {}), NAME: entry}
    return json.dumps({**settings, client.under: servers}, indent=2, ensure_ascii=False) + "\n"


def _in_toml(client: Client, path: Path, text: str, entry: Json) -> str:
    header = f"[{client.under}.{NAME}]"
    block = header + "\n" + "".join(f"{k} = {_toml(v)}\n" for k, v in entry.items())
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, error, block) from error
    ours = re.compile(rf"^{re.escape(header)}[^\n]*\n(?:(?!\[).*\n?)*", re.MULTILINE)
    rest = ours.sub("", text).rstrip("\n")
    made = f"{rest}\n\n{block}" if rest else block
    if tomllib.loads(made)[client.under][NAME] != entry:
        raise _unreadable(path, f"{NAME} stands there in another form", block)
    return made


def _toml(value: Any) -> str:
    """Of a text, a number or a list of texts: their JSON is TOML."""
    return json.dumps(value, ensure_ascii=False)


def _unreadable(path: Path, why: object, by_hand: str) -> SpecError:
    return SpecError(
        f"{path} cannot be changed safely: {why}",
        next_step=f"add this by hand, the rest stays as it is:\n{by_hand}",
    )
