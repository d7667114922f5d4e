"""The server as a client starts it: a process, stdin and stdout, and what is left when it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal, TypeVar

import anyio
import psutil
import pytest
from brief_timing import COMMAND
from kernels import (
    DOES_NOT_BUILD,
    ENDLESS,
    FASTER,
    OUT_OF_BOUNDS,
    SOURCE,
    WRONG,
    WRONG_WHEN_BAKED,
    TinyKernel,
    tiny_kernel,
    with_known_peaks,
)
from mcp import Client, StdioServerParameters
from mcp_types import TextContent
from tiers import cases, further

from kernelwright.runners.building.compile_cache import VARIABLE
from kernelwright.store.job_rows import job_record
from kernelwright.store.store import STATE_FILE, Store

Era = Literal["auto", "legacy"]
T = TypeVar("T")
MEASURED = ("faster", "tie", "slower", "unstable")
UNFIT = "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n"
"""how a right candidate ends, whatever else the machine does meanwhile"""


@pytest.fixture
def kernel(tmp_path: Path) -> TinyKernel:
    with_known_peaks(tmp_path / "state")
    return tiny_kernel(tmp_path)


def command(kernel: TinyKernel) -> list[str]:
    outdir = str(kernel.folder / "state")
    root = str(kernel.folder)
    return ["-m", "kernelwright.server", "serve", "--outdir", outdir, "--root", root]


class Conversation:
    """Calls of one client."""

    def __init__(self, client: Client, kernel: TinyKernel) -> None:
        self.client = client
        self.kernel = kernel

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer."""
        answer = await self.client.call_tool(tool, arguments)
        assert not answer.is_error and answer.structured_content, answer.content
        return answer.structured_content

    async def result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool that works, waited for as the reply says."""
        reply = await self.ask(tool, **arguments)
        while reply["status"] in ("queued", "running"):
            reply = await self.ask("job", job_id=reply["job_id"])
        assert reply["status"] == "done", reply
        return reply["result"]

    async def refusal(self, tool: str, **arguments: Any) -> str:
        """The text of a call that fails."""
        answer = await self.client.call_tool(tool, arguments | {"wait_s": 45})
        (content,) = answer.content
        assert answer.is_error and isinstance(content, TextContent)
        return content.text

    async def evaluated(self, kernel_id: str, **candidate: Any) -> dict[str, Any]:
        """A candidate built and timed."""
        built = await self.result("compile_variant", kernel_id=kernel_id, **candidate)
        assert built["ok"]
        return await self.result("time_variant", variant_id=built["variant_id"])


async def failures(talk: Conversation, kernel_id: str) -> None:
    """Every way to fail is an answer that says what is wrong and where."""
    broken = await talk.result("compile_variant", kernel_id=kernel_id, source=DOES_NOT_BUILD)
    assert not broken["ok"] and broken["ending"] == "build_failed"
    assert "bump.cpp:8" in broken["diagnostics"]
    screened = await talk.result(
        "compile_variant", kernel_id=kernel_id, source=SOURCE.replace("a * x", "clock() + a * x")
    )
    assert screened["ending"] == "rejected" and "reads a clock" in screened["diagnostics"]
    wrong = await talk.evaluated(kernel_id, source=WRONG)
    assert wrong["ending"] == "wrong"
    assert wrong["failed"]["worst_index"] == [4567]
    unsafe = await talk.evaluated(kernel_id, source=OUT_OF_BOUNDS)
    assert unsafe["ending"] == "unsafe" and "`y`" in unsafe["message"]
    endless = await talk.evaluated(kernel_id, source=ENDLESS)
    assert endless["ending"] == "timed_out"
    for failed in (wrong, unsafe, endless):
        assert "speedup" not in failed and not failed["became_incumbent"]
        assert failed["next"] and failed["advice"]
    text = await talk.refusal("export_variant", variant_id=wrong["variant_id"])
    assert "ended as `wrong`" in text and talk.kernel.source.read_text("utf-8") == SOURCE


async def a_search_with_tickets(talk: Conversation, kernel_id: str) -> str:
    """Asks for candidates, takes them, and knows what became of each: the faster one, unless others
    on the machine kept it from showing that."""
    asked = await talk.result("search_step", kernel_id=kernel_id, planner="client")
    needed = asked["needs_candidates"]
    assert needed["source"] == SOURCE and needed["parameters"] == {"UNROLL": 1}
    searched = await talk.result(
        "search_step",
        search_id=asked["search_id"],
        ticket=needed["ticket"],
        candidates=[
            {
                "method": "flags",
                "detail": "vectorise",
                "options": FASTER,
                "parameters": {"UNROLL": 4},
            },
            {"method": "a diff that does not fit", "diff": UNFIT},
            {"method": "both", "diff": UNFIT, "code": f"```cpp\n// ... as before\n{SOURCE}```"},
        ],
        steps=3,
    )
    assert any(n.startswith("both: the source was used") for n in searched["notes"])
    steps = {step["method"]: step for step in searched["steps"]}
    assert steps.keys() == {"flags", "a_diff_that_does_not_fit", "both"}
    assert "stands for code" in steps["both"]["message"]
    assert steps["a_diff_that_does_not_fit"]["ending"] == "rejected"
    timed = steps["flags"]
    assert timed["ending"] in MEASURED and timed["speedup"] > 0
    assert timed["ending"] == "faster" or not timed["became_incumbent"]
    again = await talk.result("search_step", search_id=asked["search_id"])
    assert again["needs_candidates"]["ticket"] != needed["ticket"]
    better = timed["variant_id"] if timed["became_incumbent"] else timed["parent"]
    assert again["incumbent"] == better
    return str(timed["variant_id"])


async def an_export(talk: Conversation, winner: str) -> None:
    """Refused outside the roots; then written with a backup, its parameter baked in. By force: what
    confirmation finds in so noisy a place is not asked here."""
    text = await talk.refusal("export_variant", variant_id=winner, path="/etc/bump.cpp")
    assert "outside the allowed roots" in text
    exported = await talk.result("export_variant", variant_id=winner, force=True)
    assert exported["baked"] == {"UNROLL": 4} and exported["build_flags"] == FASTER["flags"]
    assert exported["build_line"] == " ".join(["g++", *FASTER["flags"], "-c", "bump.cpp"])
    assert "the same machine code" in exported["verified"]
    assert exported["confirmation"]
    source = talk.kernel.source
    assert source.read_text("utf-8") == SOURCE.replace("#define UNROLL 1", "#define UNROLL 4")
    assert Path(exported["backup"]).read_text("utf-8") == SOURCE
    assert "note" not in exported
    again = await talk.result("export_variant", variant_id=winner, force=True)
    assert "changed since the kernel was opened" in again["note"]
    assert again["backup"].endswith("bump.cpp.bak-2")


async def an_export_that_is_undone(talk: Conversation, kernel_id: str) -> None:
    """What is right as a variant and wrong as it was written is taken back."""
    before = talk.kernel.source.read_text("utf-8")
    timed = await talk.evaluated(kernel_id, source=WRONG_WHEN_BAKED)
    assert timed["ending"] in MEASURED
    text = await talk.refusal("export_variant", variant_id=timed["variant_id"], force=True)
    assert "was put back as it was" in text and "`wrong`" in text
    assert talk.kernel.source.read_text("utf-8") == before
    assert len(list(talk.kernel.folder.glob("bump.cpp*"))) == 3


def conversation(kernel: TinyKernel, era: Era, body: Callable[[Conversation], Awaitable[T]]) -> T:
    """What a client of that era finds in one conversation with a server process."""

    async def talk() -> T:
        program, *words = COMMAND
        # the SDK passes none of ours on
        environment = {"KERNELWRIGHT_BROKER": "off", VARIABLE: os.environ[VARIABLE]}
        words += command(kernel)[2:]
        server = StdioServerParameters(command=program, args=words, env=environment)
        async with Client(server, mode=era) as client:
            return await body(Conversation(client, kernel))

    return anyio.run(talk)


def test_a_client_finds_its_way_from_a_spec_to_the_exported_winner(kernel: TinyKernel) -> None:
    async def way(talk: Conversation) -> None:
        opened = await talk.result("open_kernel", spec_path="spec.json")
        kernel_id = opened["kernel_id"]
        moves = await talk.ask("propose_moves", kernel_id=kernel_id)
        assert moves["moves"][0]["candidates"][0]["parameters"] == {"UNROLL": 4}
        await failures(talk, kernel_id)
        winner = await a_search_with_tickets(talk, kernel_id)
        await an_export(talk, winner)
        await an_export_that_is_undone(talk, kernel_id)

    conversation(kernel, "auto", way)


@further(
    "tests/server/test_stdio.py::test_a_client_finds_its_way_from_a_spec_to_the_exported_winner",
    why="the same way through the older protocol, which the raw clients of this file speak",
)
def test_a_client_of_the_older_protocol_finds_it_too(kernel: TinyKernel) -> None:
    async def way(talk: Conversation) -> None:
        opened = await talk.result("open_kernel", spec_path="spec.json")
        await a_search_with_tickets(talk, opened["kernel_id"])
        text = await talk.refusal("export_variant", variant_id=opened["baseline"] + "0")
        assert "`variants` holds no" in text

    conversation(kernel, "legacy", way)


INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a test", "version": "0"},
}


class RawServer:
    """A server process and its pipes, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self._number = 0
        self.request("initialize", **INITIALIZE)
        self.send({"method": "notifications/initialized"})

    @property
    def stdin(self) -> IO[str]:
        assert self.process.stdin is not None
        return self.process.stdin

    @property
    def stdout(self) -> IO[str]:
        assert self.process.stdout is not None
        return self.process.stdout

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """The answer to a request; what comes before it must be notifications."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params})
        while True:
            message = json.loads(self.stdout.readline())
            assert message["jsonrpc"] == "2.0"
            if message.get("id") == self._number:
                return message["result"]
            assert "id" not in message

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured answer of a tool."""
        answer = self.request("tools/call", name=tool, arguments=arguments)
        assert not answer.get("isError"), answer
        return answer["structuredContent"]

    def result(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool that works, waited for as the reply says."""
        reply = self.call(tool, **arguments)
        while reply["status"] in ("queued", "running"):
            reply = self.call("job", job_id=reply["job_id"])
        assert reply["status"] == "done", reply
        return reply["result"]

    def endless(self) -> str:
        """The job_id of an evaluation that runs into its time limit, now running."""
        opened = self.result("open_kernel", spec_path="spec.json")
        built = self.result("compile_variant", kernel_id=opened["kernel_id"], source=ENDLESS)
        variant_id = built["variant_id"]
        reply = self.call("time_variant", variant_id=variant_id, wait_s=0.3)
        assert reply["status"] == "running"
        return str(reply["job_id"])

    def send(self, message: dict[str, Any]) -> None:
        """A request or notification, without waiting for an answer."""
        self.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.stdin.flush()


@contextmanager
def serving(arguments: list[str]) -> Generator[RawServer]:
    with subprocess.Popen(
        [sys.executable, *arguments],
        env={k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield RawServer(process)
        finally:
            process.kill()


def family(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """The processes beneath a server."""
    return psutil.Process(process.pid).children(recursive=True)


NOISY = """
import atexit, ctypes, sys
libc = ctypes.CDLL(None)
print("printed before", end=" ")
from kernelwright.server.app import serve_stdio
from kernelwright.server.wire import claim_stdio
claim_stdio()
atexit.register(print, "printed at exit")
print("printed while serving")
libc.printf(b"printed by a library, and flushed at exit\\n")
from pathlib import Path
serve_stdio(Path(sys.argv[1]), [Path(sys.argv[2])])
"""


def test_stdout_carries_the_protocol_and_nothing_else_also_at_exit(kernel: TinyKernel) -> None:
    arguments = ["-c", NOISY, str(kernel.folder / "state"), str(kernel.folder)]
    with serving(arguments) as server:
        assert server.request("tools/list")["tools"]
        assert server.result("open_kernel", spec_path="spec.json")["kernel_id"]
        server.stdin.close()
        assert server.stdout.read() == ""
        assert server.process.wait(30) == 0
        assert server.process.stderr is not None
        told = server.process.stderr.read()
        for text in ("before", "while serving", "by a library", "at exit"):
            assert f"printed {text}" in told


@cases(
    "number",
    [signal.SIGINT, signal.SIGTERM],
    why="a further signal",
)
def test_a_signal_ends_the_server_and_its_children_in_the_middle_of_an_evaluation(
    kernel: TinyKernel, number: signal.Signals
) -> None:
    with serving(command(kernel)) as server:
        server.endless()
        children = family(server.process)
        assert children
        os.kill(server.process.pid, number)
        assert server.process.wait(30) == 128 + number
        assert server.stdout.read() == ""
        assert not psutil.wait_procs(children, timeout=10)[1]
    assert not (kernel.folder / "state" / "scratch").exists()
    assert endings(kernel) == ["tie"], "the baseline's: nothing was lost but the time"


def endings(kernel: TinyKernel) -> list[str]:
    """Of all evaluations on disk."""
    with Store.open(kernel.folder / "state" / STATE_FILE) as store:
        return [value["ending"] for _, value in store.items("evaluations")]


def test_a_killed_server_leaves_no_process_and_another_that_was_there_finishes_its_job(
    kernel: TinyKernel,
) -> None:
    with serving(command(kernel)) as other, serving(command(kernel)) as server:
        other.call("inspect", what="jobs")  # it has loaded its tools when it is asked in time
        job_id = server.endless()
        assert other.call("job", job_id=job_id, wait_s=0)["status"] == "running"
        children = family(server.process)
        server.process.kill()
        server.process.wait(30)
        assert children and not psutil.wait_procs(children, timeout=10)[1]
        job = other.call("job", job_id=job_id, wait_s=45)
        assert job["status"] == "done" and job["result"]["ending"] == "timed_out"


def test_servers_whose_clients_go_end_with_their_children_and_take_no_attempt_from_a_job(
    kernel: TinyKernel,
) -> None:
    job_id = ""
    for _ in range(2):
        with serving(command(kernel)) as server:
            job_id = job_id or server.endless()
            while (job := server.call("job", job_id=job_id, wait_s=0.02))["status"] == "queued":
                pass
            assert job["status"] == "running"
            children = family(server.process)
            server.stdin.close()
            assert server.process.wait(30) == 0
            assert not psutil.wait_procs(children, timeout=10)[1]
        with Store.open(kernel.folder / "state" / STATE_FILE) as store:
            left = job_record(store, job_id)
            assert (left.state, left.attempts) == ("queued", 0)
    with serving(command(kernel)) as server:
        job = server.call("job", job_id=job_id, wait_s=45)
        assert job["status"] == "done" and job["result"]["ending"] == "timed_out"


def asking(text: str) -> str:
    """A request to inspect something, with an argument as it is written in JSON."""
    return (
        '{"jsonrpc": "2.0", "id": "q", "method": "tools/call", "params": {"name": "inspect", '
        f'"arguments": {{"what": "host", "id": {text}}}}}}}'
    )


UNREADABLE = {
    "half of a surrogate pair": (asking('"\\ud800"'), "q", -32700),
    "nesting": (asking("[" * 250 + "]" * 250), "q", -32700),
    "an integer without end": (asking("1" * 5000), "q", -32700),
    "malformed": ('{"jsonrpc": "2.0", "id": 7, ', None, -32700),
    "no JSON": ("hello?", None, -32700),
    "a list": ("[1, 2]", None, -32600),
    "parameters that are no object": (
        '{"jsonrpc": "2.0", "id": 8, "method": "tools/list", "params": 3}',
        8,
        -32600,
    ),
}


def test_a_request_that_cannot_be_read_is_answered_with_an_error_and_the_next_one_as_ever(
    kernel: TinyKernel,
) -> None:
    with serving(command(kernel)) as server:
        for what, (line, number, code) in UNREADABLE.items():
            server.stdin.write(line + "\n\n")
            server.stdin.flush()
            told = json.loads(server.stdout.readline())
            assert told["id"] == number, (what, told)
            assert told["error"]["code"] == code, (what, told)
            assert "Nothing was done" in told["error"]["message"]
            assert server.request("tools/list")["tools"], what


def test_a_client_that_vanishes_before_its_answer_ends_the_server_without_a_traceback(
    kernel: TinyKernel,
) -> None:
    with serving(command(kernel)) as server:
        server.result("open_kernel", spec_path="spec.json")
        children = family(server.process)
        server.stdout.close()
        for number in range(100, 120):
            server.send({"id": number, "method": "tools/list", "params": {}})
        server.stdin.close()
        assert server.process.wait(30) == 0
        assert children and not psutil.wait_procs(children, timeout=10)[1]
        assert server.process.stderr is not None
        assert server.process.stderr.read() == ""
