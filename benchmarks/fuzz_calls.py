"""Random and hostile calls against one server over stdio: each answered, none over the cap.

usage: python benchmarks/fuzz_calls.py [--calls 2000] [--seed 1] [--limit 60] [--output FILE]

A small kernel is opened first, so that calls also meet what exists. Asserted of each line: one
answer within the limit, under its own id; no traceback, neither there nor on stderr; no error that
tells nothing (the SDK's "Error executing tool", JSON-RPC -32603); no refusal of a tool without what
is valid or what to do next; no text over 25,000 characters.
Writes benchmarks/results/mcp_fuzz.json and ends with 1 if anything was found.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import psutil
from environment import ROOT, write
from fuzz_inputs import Drawn, Line

from kernelwright.server.protocol.replies import MOST_CHARS

sys.path.insert(0, str(ROOT / "tests" / "support"))
from client_project import Target, left_over, project, target_of

SHOWN = 400
"""characters of a line and of its answer that the result keeps"""
INTERNAL = -32603
GOES_ON = ("Valid:", "Next:")
"""what a tool's refusal says, one of them at least"""
TELLS_NOTHING = ("Traceback (most recent", "Error executing tool")
END_S = 30.0


class Server:
    """A server that is spoken to line by line."""

    def __init__(self, target: Target, log: Path, limit: float) -> None:
        self.limit = limit
        self.log = log.open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [target["command"], *target["args"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            encoding="utf-8",
        )
        self._said: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said.put(line)

    def send(self, text: str) -> None:
        """One line."""
        assert self.process.stdin is not None
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any] | None:
        """The next answer, notifications left out; None: none came in time."""
        ends = time.monotonic() + self.limit
        while (left := ends - time.monotonic()) > 0:
            try:
                told = json.loads(self._said.get(timeout=left))
            except queue.Empty:
                return None
            if "method" not in told:
                return told
        return None

    def request(self, number: int, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """What an honest request gets."""
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}))
        told = self.answer()
        if told is None or told.get("id") != number or "result" not in told:
            raise RuntimeError(f"an honest {method} was answered with {told}")
        return told["result"]

    def call(self, number: int, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured reply of an honest call."""
        told = self.request(number, "tools/call", {"name": tool, "arguments": arguments})
        return told["structuredContent"]

    def end(self) -> int | None:
        """Close its input and wait; its exit status, None where it had to be killed."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            return self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None


def main() -> int:
    """Send, judge, write."""
    asked = arguments()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kernelwright-fuzz-") as made:
        folder = project(Path(made) / "project")
        with target_of(folder, "stdio") as target:
            server = Server(target, Path(made) / "stderr", asked.limit)
            try:
                result = fuzzed(server, asked.calls, asked.seed)
            finally:
                status = server.end()
            server.log.seek(0)
            complained = server.log.read()
        left = left_over(folder)
    result |= {"exit": status, "left": left, "stderr": complained[-2000:]}
    result["seconds"] = round(time.monotonic() - began, 1)
    whole = not result["faults"] and status == 0 and not left and "Traceback" not in complained
    print(json.dumps({k: v for k, v in result.items() if k != "faults"}, indent=1))
    for fault in result["faults"][:10]:
        print(json.dumps(fault))
    print(f"{result['answered']} of {result['sent']} answered, {len(result['faults'])} faults")
    print(f"written: {write('mcp_fuzz', result, asked.output)}")
    return 0 if whole else 1


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for an answer")
    parser.add_argument("--output", type=Path, help="in place of benchmarks/results")
    return parser.parse_args()


def fuzzed(server: Server, calls: int, seed: int) -> dict[str, Any]:
    """All lines, one at a time, and what came of them."""
    tools, known = prepared(server)
    drawn = Drawn(seed, tools, known)
    kinds, endings = Counter[str](), Counter[str]()
    faults, waits, longest = list[dict[str, str]](), list[float](), 0
    before = resident(server)
    for _ in range(calls):
        line, began = drawn.line(), time.monotonic()
        server.send(line.text)
        told = server.answer()
        waits.append(time.monotonic() - began)
        kinds[line.kind] += 1
        endings[ending(told)] += 1
        longest = max(longest, *(len(text) for text in texts(told)), 0)
        if why := fault(line, told):
            faults.append(shown(line, told, why))
        if server.process.poll() is not None:
            break
    server.request(1, "tools/list", {})
    return {
        "seed": seed,
        "sent": sum(kinds.values()),
        "answered": sum(kinds.values()) - endings["nothing"],
        "kinds": dict(kinds),
        "endings": dict(endings),
        "longest_text": longest,
        "cap": MOST_CHARS,
        "median_ms": round(median(waits) * 1000, 1),
        "longest_s": round(max(waits), 2),
        "resident_mib": [before, resident(server)],
        "faults": faults,
    }


def prepared(server: Server) -> tuple[dict[str, Any], dict[str, str]]:
    """Shake hands and open a kernel: the tools' schemas, and names that mean something."""
    hello: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "fuzz", "version": "1"},
    }
    server.request(1, "initialize", hello)
    server.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
    listed = server.request(2, "tools/list", {})["tools"]
    opened = server.call(3, "open_kernel", spec_path="spec.json", wait_s=45)
    while opened["status"] in ("queued", "running"):
        opened = server.call(4, "job", job_id=opened["job_id"], wait_s=45)
    kernel, variant = opened["result"]["kernel_id"], opened["result"]["baseline"]
    known = {"kernel_id": kernel, "variant_id": variant, "job_id": opened["job_id"]}
    return {tool["name"]: tool["inputSchema"] for tool in listed}, known


def fault(line: Line, told: dict[str, Any] | None) -> str:
    """What is wrong with an answer; empty: nothing."""
    if told is None:
        return "no answer"
    if told.get("id") != line.identity:
        return f"answered as {told.get('id')}, not {line.identity}"
    if told.get("error", {}).get("code") == INTERNAL:
        return "an internal error"
    for text in texts(told):
        if len(text) > MOST_CHARS:
            return f"a text of {len(text)} characters"
        if any(word in text for word in TELLS_NOTHING):
            return "an error that tells nothing, or a traceback"
        if ending(told) == "refused" and not any(word in text for word in GOES_ON):
            return "a refusal that says neither what is valid nor what to do next"
    return ""


def texts(told: dict[str, Any] | None) -> Iterator[str]:
    """What a client would show of an answer, part by part."""
    if told is None:
        return
    if "error" in told:
        yield str(told["error"].get("message"))
    result = told.get("result", {})
    for part in (*result.get("content", ()), *result.get("contents", ())):
        yield str(part.get("text", ""))
    for message in result.get("messages", ()):
        yield str(message["content"].get("text", ""))


def ending(told: dict[str, Any] | None) -> str:
    """How a line was answered."""
    if told is None:
        return "nothing"
    if "error" in told:
        return f"error {told['error']['code']}"
    return "refused" if told["result"].get("isError") else "result"


def shown(line: Line, told: dict[str, Any] | None, why: str) -> dict[str, str]:
    """A fault as the result keeps it."""
    answer = json.dumps(told)
    return {"why": why, "kind": line.kind, "line": line.text[:SHOWN], "answer": answer[:SHOWN]}


def resident(server: Server) -> float:
    """Memory of the server in MiB."""
    return round(psutil.Process(server.process.pid).memory_info().rss / 2**20, 1)


if __name__ == "__main__":
    sys.exit(main())
