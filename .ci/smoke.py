"""Use an installed `kernelwright` as a user would: `smoke.py FOLDER COMMAND`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SOURCE = """\
void twice(const float* x, float* y, int n) {
  for (int i = 0; i < n; i++) {
    volatile float value = x[i];
    for (int r = 1; r < REPEAT; r++) value = x[i];
    y[i] = 2.0f * value;
  }
}
"""
SPEC = {
    "name": "twice",
    "kernel": {
        "kernel_type": "cpp",
        "source_path": "twice.cpp",
        "metadata": {"kernel_name": "twice"},
    },
    "io": {
        "arguments": [
            {"name": "x", "role": "input", "dtype": "float32", "shape": ["N"]},
            {"name": "y", "role": "output", "dtype": "float32", "shape": ["N"]},
            {"name": "n", "role": "scalar", "dtype": "int32", "value": "N"},
        ]
    },
    "symbols": {"N": {"max": 65536}},
    "workloads": [
        {"name": "small", "symbols": {"N": 3000}},
        {"name": "unseen", "symbols": {"N": 4001}, "held_out": True},
    ],
    "parameters": {"REPEAT": {"values": [64, 1]}},
    "reference": {"source_code": "def reference(x, n):\n    return 2 * x\n"},
}
GREETING = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "smoke", "version": "0"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)


class Smoke:
    """One folder, one command."""

    def __init__(self, folder: Path, command: Path) -> None:
        self.folder = folder
        self.command = command

    def run(self, *arguments: str, status: int = 0) -> str:
        """The output of one call, which must end with `status`."""
        print(f"$ kernelwright {' '.join(arguments)}", flush=True)
        done = subprocess.run(
            [self.command, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            check=False,
            timeout=300,
        )
        print(done.stdout, end="", flush=True)
        assert done.returncode == status, f"status {done.returncode}, not {status}"
        return done.stdout

    def tools_of_server(self) -> list[str]:
        """The names that `serve` answers to tools/list."""
        print("$ kernelwright serve", flush=True)
        with subprocess.Popen(
            [self.command, "serve"],
            cwd=self.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as server:
            assert server.stdin is not None and server.stdout is not None
            for message in GREETING:
                server.stdin.write(json.dumps(message) + "\n")
            server.stdin.flush()
            for line in server.stdout:
                answer: dict[str, Any] = json.loads(line)
                if answer.get("id") == 2:
                    break
            else:
                raise AssertionError("the server ended without an answer to tools/list")
            server.stdin.close()
            assert server.wait(30) == 0, f"serve ended with status {server.returncode}"
        return [tool["name"] for tool in answer["result"]["tools"]]


def main(folder: Path, command: Path) -> None:
    """Raises AssertionError at the first thing that is not as it should be."""
    smoke = Smoke(folder, command)
    (folder / "twice.cpp").write_text(SOURCE, encoding="utf-8")
    (folder / "spec.json").write_text(json.dumps(SPEC), encoding="utf-8")
    (folder / "wrong.json").write_text(json.dumps({**SPEC, "workloads": []}), encoding="utf-8")
    # what lies in the working folder must not be taken for a part of the package
    (folder / "runners.py").write_text("raise ImportError('the wrong runners')\n", encoding="utf-8")
    smoke.run("--version")
    smoke.run("doctor")
    smoke.run("spec", "--check", "spec.json")
    smoke.run("spec", "--check", "wrong.json", status=1)
    smoke.run("optimize", "--input", "spec.json", "--budget-builds", "3", "--no-llm")
    best = json.loads((folder / "out/kernels/twice/best/control.json").read_text(encoding="utf-8"))
    assert best["parameters"] == {"REPEAT": 1}, best
    smoke.run("show", "out", "twice")
    tools = smoke.tools_of_server()
    print(f"tools: {', '.join(tools)}")
    assert "open_kernel" in tools and "search_step" in tools, tools


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
