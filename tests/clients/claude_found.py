"""What Claude Code loads of the server's tools, and which it finds for ten queries.

Claude Code defers tools: a model is told their names alone and looks for them with `ToolSearch`. A
stand-in plays the model over loopback, asks one query after the other, and reads what came back.
Run: `python claude_found.py CLAUDE`, the target as JSON on stdin; benchmarks/mcp_bare.py does.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, cast

from claude_code import QUIET, entry_of
from journey import Report
from model_stand_in import PREFIX, Block, Model, serving, text

QUERIES = (
    "make matmul faster",
    "optimize CUDA kernel",
    "speed up Triton softmax",
    "why is my GPU kernel slow",
    "profile kernel bottleneck occupancy",
    "autotune block size",
    "benchmark two versions of a kernel",
    "vectorize C++ loop",
    "check kernel correctness against reference",
    "write optimized kernel back to source",
)
MOST = 5
LIMIT_S = 240.0


class Seeker(Model):
    """Asks for tools by one query a turn."""

    def __init__(self) -> None:
        super().__init__(Report())
        self.loaded: list[str] = []
        self.results: dict[str, list[str]] = {}
        self._place = 0
        self._turns = threading.Lock()

    def turn(self, request: dict[str, Any]) -> Block:
        """The next query; text when all were asked."""
        names = [str(tool.get("name")) for tool in request.get("tools", ())]
        if "ToolSearch" not in names and not self.loaded:
            return text("done")
        with self._turns:
            if not self.loaded:
                self.loaded = [n.removeprefix(PREFIX) for n in names if n.startswith(PREFIX)]
            if self._place:
                self.results[QUERIES[self._place - 1]] = referred(request["messages"])
            if self._place == len(QUERIES):
                return text("done")
            query = {"query": QUERIES[self._place], "max_results": MOST}
            self._place += 1
            identity = f"toolu_{self._place:04d}"
            return {"type": "tool_use", "id": identity, "name": "ToolSearch", "input": query}


def referred(messages: list[dict[str, Any]]) -> list[str]:
    """The tools that the last result names, in its order."""
    for message in reversed(messages):
        for part in parts_of(message["content"]):
            if part.get("type") == "tool_result":
                named = [each.get("tool_name") for each in parts_of(part["content"])]
                return [str(name).removeprefix(PREFIX) for name in named if name]
    return []


def parts_of(content: object) -> list[Block]:
    """The blocks of a content; none where it is a text."""
    blocks = cast("list[object]", content) if isinstance(content, list) else []
    return [cast("Block", each) for each in blocks if isinstance(each, dict)]


def found_by(claude: str, target: dict[str, Any]) -> dict[str, Any]:
    """What was loaded from the beginning, and found for each query. Raises RuntimeError where not
    all were asked."""
    model = Seeker()
    with tempfile.TemporaryDirectory() as folder, serving(model) as url:
        home = Path(folder)
        config = home / "mcp.json"
        entry = entry_of(target)
        config.write_text(json.dumps({"mcpServers": {"kernelwright": entry}}))
        command = [claude, "-p", "make matmul faster", "--mcp-config", str(config)]
        command += ["--strict-mcp-config", "--allowedTools", f"{PREFIX}*", "ToolSearch"]
        environment = QUIET | {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "ANTHROPIC_BASE_URL": url,
            "ENABLE_TOOL_SEARCH": "1",
        }
        ended = subprocess.run(
            command,
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    if len(model.results) < len(QUERIES):
        said = (ended.stderr or ended.stdout)[-1000:]
        raise RuntimeError(f"Claude Code asked {len(model.results)} queries: {said}")
    version = subprocess.run([claude, "--version"], capture_output=True, text=True).stdout.strip()
    return {"version": version, "loaded": model.loaded, "found": model.results}


if __name__ == "__main__":
    print(json.dumps(found_by(sys.argv[1], json.load(sys.stdin))))
