"""The Inspector's command line: one process, and over stdio one server, for each call.

Run: `python inspector.py MCP_INSPECTOR`, the target as JSON on stdin. Beside the journey it lists
the tools with `--strict` (schemas that some clients cannot read end it with 6) and sends 200 calls,
16 at once.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from journey import Report, journey

LIMIT_S = 300.0
"""of one call, with the start of Node and of a server"""
LOAD = ("--load", "--load-requests", "200", "--load-concurrency", "16")


def drive(inspector: str, target: dict[str, Any]) -> Report:
    """The whole journey, then the load."""
    asked = [inspector, "--cli", *server_of(target), "--format", "json", "--quiet"]
    asked += ["--protocol-era", "auto"]
    report = Report(era="auto")
    report.tools = len(answer([*asked, "--method", "tools/list", "--strict"])["tools"])
    calls, reply = journey(report), None
    while True:
        try:
            tool, arguments = next(calls) if reply is None else calls.send(reply)
        except StopIteration:
            break
        reply = answer([*asked, *call_of(tool, arguments)])["structuredContent"]
    report.extra["load"] = answer([*asked, *call_of("inspect", {"what": "kernels"}), *LOAD])
    return report


def server_of(target: dict[str, Any]) -> list[str]:
    """How the Inspector is told which server."""
    if target["transport"] == "stdio":
        return [target["command"], *target["args"]]
    token = f"Authorization: Bearer {target['token']}"
    return ["--server-url", target["url"], "--transport", "http", "--header", token]


def call_of(tool: str, arguments: dict[str, Any]) -> list[str]:
    """One call of a tool."""
    sent = json.dumps(arguments)
    return ["--method", "tools/call", "--tool-name", tool, "--tool-args-json", sent]


def answer(command: list[str]) -> dict[str, Any]:
    """What one run of the Inspector prints."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL
    )
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {(done.stderr or done.stdout)[-2000:]}")
    found = json.loads(done.stdout)
    return found.get("result", found)


if __name__ == "__main__":
    print(drive(sys.argv[1], json.load(sys.stdin)).line())
