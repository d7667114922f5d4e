"""A session with a server over stdio, line by line: nothing of a client's own time is in it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}
READY = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"})
END_S = 30.0


class Session:
    """Asks one thing after the other. A server that says nothing more ends it with an error."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._number = 0

    def send(self, line: str) -> None:
        """One line."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def request(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result. Raises RuntimeError where there is none."""
        assert self._process.stdout is not None
        self._number += 1
        asked = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.send(json.dumps(asked))
        for line in self._process.stdout:
            told = json.loads(line)
            if told.get("id") == self._number:
                if "result" not in told:
                    raise RuntimeError(f"{method} was answered with {told}")
                return told["result"]
        raise RuntimeError(f"the server ended at {method}")

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The structured reply of a call. Raises RuntimeError where it is refused."""
        told = self.request("tools/call", {"name": tool, "arguments": arguments})
        if told.get("isError"):
            raise RuntimeError(f"{tool} was refused: {told['content']}")
        return told["structuredContent"]


@contextmanager
def session(command: list[str]) -> Generator[Session]:
    """A session that is ready; its server ends with it."""
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    )
    try:
        opened = Session(process)
        opened.request("initialize", HELLO)
        opened.send(READY)
        yield opened
    finally:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        try:
            process.wait(END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
