"""Claude Code as it is shipped, without network or key: a stand-in plays its model.

Run: `python claude_code.py CLAUDE`, the target as JSON on stdin. What it proves is the client's
half: how Claude Code connects, which tools it takes, and that a model is shown whole replies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from journey import Report
from model_stand_in import PREFIX, Model, serving

QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "ANTHROPIC_API_KEY": "none",
}


def drive(claude: str, target: dict[str, Any]) -> Report:
    """The whole journey in one run of `claude -p`."""
    report = Report(era="auto")
    model = Model(report)
    with tempfile.TemporaryDirectory() as folder, serving(model) as url:
        home = Path(folder)
        config = home / "mcp.json"
        config.write_text(json.dumps({"mcpServers": {"kernelwright": entry_of(target)}}))
        asked = [claude, "-p", "make matmul faster", "--mcp-config", str(config)]
        asked += ["--strict-mcp-config", "--allowedTools", f"{PREFIX}*"]
        asked += ["--output-format", "json"]
        environment = QUIET | {
            "PATH": os.environ["PATH"],
            "HOME": folder,
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "ANTHROPIC_BASE_URL": url,
        }
        ended = subprocess.run(
            asked,
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    if model.failure or not model.finished:
        why = model.failure or (ended.stderr or ended.stdout)[-2000:]
        raise RuntimeError(f"claude ended with {ended.returncode}: {why}")
    return report


def entry_of(target: dict[str, Any]) -> dict[str, Any]:
    """The server's entry in Claude Code's configuration."""
    if target["transport"] == "stdio":
        return {"type": "stdio", "command": target["command"], "args": target["args"]}
    headers = {"Authorization": f"Bearer {target['token']}"}
    return {"type": "http", "url": target["url"], "headers": headers}


if __name__ == "__main__":
    print(drive(sys.argv[1], json.load(sys.stdin)).line())
