"""From a clone to a first speedup in Claude Code, as README says it, by `install` and by `plugin`.

usage: python tests/clients/claude_newcomer.py CLAUDE [--ways install,plugin] [--output FILE]

A fresh clone goes into a virtual environment of its own; then, for each way, a project with one C++
file and no spec, the commands of README, and one sentence to Claude Code. A stand-in plays its
model over loopback (model_stand_in.py): it takes the calls that replies name as they
stand, goes on while a search does, and exports what is best. What it cannot show is how a model
words its calls. Told are the seconds of each step, every call, and each refusal. The time to read
what README says before its sections, on installing and on clients is reckoned at WORDS_A_MINUTE.
Writes benchmarks/results/claude_newcomer.json.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from claude_code import QUIET
from journey import Report
from model_stand_in import Block, Model, result_of, serving, shown_of, text

ROOT = Path(__file__).parents[2]

SOURCE = """\
// Mean of each column of a table with `rows` rows.
void column_means(const double* table, double* means, int rows, int cols) {
  for (int j = 0; j < cols; ++j) {
    double sum = 0.0;
    for (int i = 0; i < rows; ++i) sum += table[i * cols + j];
    means[j] = sum / rows;
  }
}
"""
WISH = "make column_means.cpp faster for rows = 2000 and cols = 2000"
FIRST = {"source_path": "column_means.cpp", "goal": WISH}
PREFIXES = {"install": "mcp__kernelwright__", "plugin": "mcp__plugin_kernelwright_kernelwright__"}
WORDS_A_MINUTE = 200
ENOUGH_S = 150.0
"""of searching, after which a best that was found is exported"""
LIMIT_S = 600.0


class Newcomer(Model):
    """Does what replies say comes next, and notes every call."""

    def __init__(self, prefix: str) -> None:
        super().__init__(Report())
        self.prefix = prefix
        self.calls: list[dict[str, Any]] = []
        self.refusals: list[str] = []
        self.exported: dict[str, Any] = {}
        self._began = time.monotonic()
        self._wanted: tuple[str, dict[str, Any]] | None = ("search_step", FIRST)
        self._waiting: Block | None = None
        self._turns = threading.Lock()

    def turn(self, request: dict[str, Any]) -> Block:
        """The next call, after a look for its tool where it is not loaded; text at the end."""
        names = [str(tool.get("name")) for tool in request.get("tools", ())]
        with self._turns:
            if not names or (self._waiting is None and self._wanted is None):
                return text("done")
            if self._waiting is not None:
                result = result_of(request["messages"], self._waiting["id"])
                if result is None:
                    return self._waiting
                self._read(self._waiting, result)
            if self._wanted is None:
                self.finished, self._waiting = True, None
                return text("done")
            tool, arguments = self._wanted
            name = self.prefix + tool
            if name not in names:
                name, arguments = "ToolSearch", {"query": f"select:{name}", "max_results": 3}
            self._waiting = {"type": "tool_use", "id": f"toolu_{len(self.calls):04d}"}
            self._waiting |= {"name": name, "input": arguments}
            self.calls.append({"tool": name.removeprefix(self.prefix), "arguments": arguments})
            return self._waiting

    def _read(self, asked: Block, result: Block) -> None:
        shown = shown_of(result)
        self.calls[-1]["characters"] = len(shown)
        self.calls[-1]["at_s"] = round(time.monotonic() - self._began, 1)
        if asked["name"] == "ToolSearch":
            if sum(call["tool"] == "ToolSearch" for call in self.calls) > 5:
                self._wanted = None
            return
        if result.get("is_error"):
            self.refusals.append(shown)
            self._wanted = None
            return
        reply = json.loads(shown)
        done = reply.get("result", reply)
        if "verified" in done:
            self.exported, self._wanted = done, None
        else:
            self._wanted = self._following(done)

    def _following(self, reply: dict[str, Any]) -> tuple[str, dict[str, Any]] | None:
        """Of the calls that a reply names, the export once it was searched long enough."""
        calls = [each.partition(" ") for each in reply.get("next", ())]
        found = [(tool, json.loads(arguments)) for tool, _, arguments in calls]
        export = next((each for each in found if each[0] == "export_variant"), None)
        if export and time.monotonic() - self._began > ENOUGH_S:
            return export
        return found[0] if found else None


def main() -> None:
    """Every way, from the same clone; a table last."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    from environment import write

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("claude")
    parser.add_argument("--ways", default=",".join(PREFIXES))
    parser.add_argument("--output", type=Path)
    asked = parser.parse_args()
    result: dict[str, Any] = {"kernel": SOURCE, "wish": WISH, "reading_minutes": reading()}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        clone, result["before"] = set_up(home)
        for way in asked.ways.split(","):
            result[way] = tried(asked.claude, way, clone, home / way)
            told(way, result[way])
    print(write("claude_newcomer", json.loads(scrubbed(result, folder)), asked.output))


def reading() -> float:
    """Minutes for what README has before its first section, on installing, and on clients."""
    sections = re.split(r"\n## ", (ROOT / "README.md").read_text("utf-8"))
    read = [
        s for s in sections if not sections.index(s) or s.startswith(("Install", "From Claude"))
    ]
    return round(sum(len(each.split()) for each in read) / WORDS_A_MINUTE, 1)


def set_up(home: Path) -> tuple[Path, dict[str, float]]:
    """A clone with the package in an environment of its own; seconds of each step."""
    clone, seconds = home / "kernelwright", dict[str, float]()
    python = str(clone / ".venv" / "bin" / "python")
    steps = {
        "clone": ["git", "clone", "--quiet", str(ROOT), str(clone)],
        "environment": [sys.executable, "-m", "venv", str(clone / ".venv")],
        "pip install": [python, "-m", "pip", "install", "--quiet", f"{clone}[host]"],
    }
    for name, command in steps.items():
        began = time.monotonic()
        subprocess.run(command, check=True)
        seconds[name] = round(time.monotonic() - began, 1)
    return clone, seconds


def tried(claude: str, way: str, clone: Path, home: Path) -> dict[str, Any]:
    """One way in a project and a home of its own: commands, calls, and what came of them."""
    project = home / "project"
    project.mkdir(parents=True)
    (project / "column_means.cpp").write_text(SOURCE)
    product = clone / ".venv" / "bin" / "kernelwright"
    model = Newcomer(PREFIXES[way])
    with serving(model) as url:
        environment = QUIET | {
            "PATH": f"{product.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(home),
            "CLAUDE_CONFIG_DIR": str(home / ".claude"),
            "ANTHROPIC_BASE_URL": url,
        }
        seconds = dict[str, float]()
        for name, command in commands(claude, way, product, clone).items():
            began = time.monotonic()
            ended = subprocess.run(
                command,
                cwd=project,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=LIMIT_S,
            )
            seconds[name] = round(time.monotonic() - began, 1)
            if ended.returncode:
                raise RuntimeError(f"{name}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    subprocess.run([str(product), "broker", "stop"], cwd=project, capture_output=True, check=False)
    return {
        "seconds": seconds,
        "calls": model.calls,
        "refusals": model.refusals,
        "exported": model.exported,
        "source": (project / "column_means.cpp").read_text(),
    }


def commands(claude: str, way: str, product: Path, clone: Path) -> dict[str, list[str]]:
    """What README says is typed, and the sentence; the server is approved as a user does."""
    asked = [claude, "-p", WISH, "--allowedTools", f"{PREFIXES[way]}*", "--output-format", "json"]
    if way == "install":
        settings = json.dumps({"enableAllProjectMcpServers": True})
        return {
            "kernelwright install claude-code": [str(product), "install", "claude-code"],
            "claude": [*asked, "--settings", settings],
        }
    return {
        "claude plugin marketplace add": [claude, "plugin", "marketplace", "add", str(clone)],
        "claude plugin install": [claude, "plugin", "install", "kernelwright"],
        "claude": asked,
    }


def told(way: str, found: dict[str, Any]) -> None:
    """One way in a few lines."""
    print(f"{way}: {found['seconds']}")
    for call in found["calls"]:
        print(
            f"  {call.get('at_s', 0):6.1f} s  {call['tool']} {json.dumps(call['arguments'])[:90]}"
        )
    for refusal in found["refusals"]:
        print(f"  REFUSED: {refusal[:300]}")
    print(f"  {found['exported'].get('confirmation', 'nothing was exported')[:300]}")


def scrubbed(result: dict[str, Any], folder: str) -> str:
    """Without the folder that the run was in."""
    return re.sub(re.escape(folder), "~", json.dumps(result))


if __name__ == "__main__":
    main()
