"""Random and hostile calls against servers over stdio: each answered, none over the cap.

usage: python benchmarks/fuzz_calls.py [--calls 20000] [--servers 2] [--seed 1] [--limit 60]
    [--output FILE]

The servers run side by side, each on a project and seeds of its own, and share the calls. A small
kernel is opened first, so that calls also meet what exists. Asserted of each line: one
answer within the limit, under its own id; no traceback, neither there nor on stderr; no error that
tells nothing (the SDK's "Error executing tool", JSON-RPC -32603); no refusal of a tool without what
is valid or what to do next; no text over 25,000 characters.
Writes benchmarks/results/mcp_fuzz.json and ends with 1 if anything was found.
"""

from __future__ import annotations

import argparse
import json
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
TELLS_NOTHING = (
    "Traceback (most recent",
    "Error executing tool",
    "an error in Kernelwright itself",
)
BROKE = re.compile(r"job \S+ \((\w+)\) broke|^(\w+(?:Error|Exception)\b.{0,160})", re.MULTILINE)
"""of a log: the tools that broke, and the last lines of tracebacks"""
END_S = 30.0


class Server:
    """A server that is spoken to line by line."""

    def __init__(self, target: Target, log: Path, limit: float) -> None:
        self.limit = limit
        self.outdir = Path(target["args"][target["args"].index("--outdir") + 1])
        self.log = log.open("w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [target["command"], *target["args"]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            encoding="utf-8",
        )
        self._said: queue.Queue[str] = queue.Queue()
        self._late = list[object]()
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

    def given_up(self, identity: object) -> None:
        """No answer came in time: one that comes later is none to what is asked then."""
        self._late.append(identity)

    def answer(self) -> dict[str, Any] | None:
        """The next answer, notifications and late ones left out; None: none came in time."""
        ends = time.monotonic() + self.limit
        while (left := ends - time.monotonic()) > 0:
            try:
                told = json.loads(self._said.get(timeout=left))
            except queue.Empty:
                return None
            if "method" in told:
                continue
            if told.get("id") not in self._late:
                return told
            self._late.remove(told.get("id"))
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
    share = -(-asked.calls // asked.servers)
    with ThreadPoolExecutor(asked.servers) as pool:
        begun = [
            pool.submit(one_server, asked.seed + number, share, asked.limit)
            for number in range(asked.servers)
        ]
        parts = [server.result() for server in begun]
    result: dict[str, Any] = merged(parts) | {"seconds": round(time.monotonic() - began, 1)}
    whole = not result["faults"]
    print(json.dumps({k: v for k, v in result.items() if k != "faults"}, indent=1))
    for fault in result["faults"][:10]:
        print(json.dumps(fault))
    print(f"{result['answered']} of {result['sent']} answered, {len(result['faults'])} faults")
    print(f"written: {write('mcp_fuzz', result, asked.output)}")
    return 0 if whole else 1


def one_server(seed: int, calls: int, limit: float) -> dict[str, Any]:
    """What came of one server's calls, and of its end."""
    with tempfile.TemporaryDirectory(prefix="kernelwright-fuzz-") as made:
        folder = project(Path(made) / "project")
        with target_of(folder, "stdio") as target:
            server = Server(target, Path(made) / "stderr", limit)
            try:
                result = fuzzed(server, calls, seed)
            finally:
                status = server.end()
            server.log.seek(0)
            complained = server.log.read()
        broker = folder / "state" / "broker.log"
        complained += broker.read_text("utf-8", "replace") if broker.exists() else ""
        left = left_over(folder)
    if status != 0 or left or "Traceback" in complained:
        broke = Counter(" ".join(filter(None, found)) for found in BROKE.findall(complained))
        log = complained.replace(f"{ROOT}/", "")[-2000:]
        end = {"exit": status, "left": left, "broke": dict(broke), "stderr": log}
        result["faults"].append({"why": "the server's end, or its log", "answer": json.dumps(end)})
    return result


def merged(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The results of all servers as one."""
    waits = sorted(wait for part in parts for wait in part["waits"])
    return {
        "seeds": [part["seed"] for part in parts],
        "servers": len(parts),
        "sent": sum(part["sent"] for part in parts),
        "answered": sum(part["answered"] for part in parts),
        "kinds": summed(part["kinds"] for part in parts),
        "endings": summed(part["endings"] for part in parts),
        "longest_text": max(part["longest_text"] for part in parts),
        "cap": MOST_CHARS,
        "median_ms": round(median(waits) * 1000, 1),
        "mean_ms": round(sum(waits) / len(waits) * 1000, 1),
        "longest_s": round(waits[-1], 2),
        "slowest": sorted((w for part in parts for w in part["slowest"]), reverse=True)[:10],
        "resident_mib": [part["resident_mib"] for part in parts],
        "broker_mib": [part["broker_mib"] for part in parts],
        "faults": [fault for part in parts for fault in part["faults"]],
    }


def summed(counts: Iterable[dict[str, int]]) -> dict[str, int]:
    """Counts by name, added up."""
    total = Counter[str]()
    for each in counts:
        total.update(each)
    return dict(total)


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=20_000)
    parser.add_argument("--servers", type=int, default=2, help="side by side")
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
    slowest = list[tuple[float, str]]()
    before = resident(server.process.pid), resident(broker_of(server))
    for _ in range(calls):
        line, began = drawn.line(), time.monotonic()
        server.send(line.text)
        told = server.answer()
        if told is None:
            server.given_up(line.identity)
        waits.append(time.monotonic() - began)
        slowest = sorted([*slowest, (round(waits[-1], 2), line.text[:160])], reverse=True)[:5]
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
        "waits": waits,
        "slowest": slowest,
        "resident_mib": [before[0], resident(server.process.pid)],
        "broker_mib": [before[1], resident(broker_of(server))],
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
    opened = server.call(3, "open_kernel", spec_path="spec.json", wait_s=5)
    while opened["status"] in ("queued", "running"):
        opened = server.call(4, "job", job_id=opened["job_id"], wait_s=5)
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


def broker_of(server: Server) -> int:
    """The process that does the work of a server."""
    return int((server.outdir / "broker.lock").read_text(encoding="ascii"))


def resident(pid: int) -> float:
    """Memory of a process in MiB."""
    return round(psutil.Process(pid).memory_info().rss / 2**20, 1)


if __name__ == "__main__":
    sys.exit(main())
