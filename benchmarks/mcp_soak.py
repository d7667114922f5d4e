"""Eight clients, thousands of calls, and everything killed now and then: what was told stays true.

usage: python benchmarks/mcp_soak.py [--calls 2000] [--seed 1] [--output FILE]

Four clients over stdio and four over HTTP (Python SDK, both eras) share a project. They give up in
the middle of calls, vanish, have their server killed; the broker is killed and stopped, the server
over HTTP killed and started again, in the first half of the calls; in the last three tenths memory
is watched: by then the last broker has loaded what any kind of call needs. Asserted: each call is
answered, in words, within the cap, unless its client gave up or its own server was killed; every
job that a client was told of ends, and what was told of its end is told again ever after; no job
stays without a living owner; nothing is left running.
Writes benchmarks/results/mcp_soak.json and ends with 1 if anything was found.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import anyio
from environment import ROOT, write
from mcp import Client

sys.path.insert(0, str(ROOT / "tests" / "support"))
from kernels import tiny_kernel, with_known_peaks
from soak_calls import Call, Drawn
from soak_clients import ANSWER_S, Era, Lost, connected, flat, later
from soak_ledger import UNDER_WAY, Ledger, Reply
from soak_world import MARK, World

CLIENTS: Final = 8
GIVES_UP, VANISHES, KILLED = 0.06, 0.02, 0.01
"""shares of calls: given up after a moment; the client goes in the middle; its server is killed"""
LOOK_S: Final = 2.0
CHAOS: Final = (0.06, 0.12, 0.18, 0.24, 0.30, 0.36, 0.43, 0.50)
"""shares of all calls at which something is done to the processes"""
CALM: Final = 0.7
"""from which share on memory is judged"""
WARM: Final = 300
"""calls in which a new broker loads what it needs; rare ones, as steps of a search, load most"""
GROWTH_MIB: Final = 15.0
"""that a process may gain over the calm part; allocators keep some of what a search took"""


class Soak:
    """The clients, and who disturbs them."""

    def __init__(self, world: World, calls: int, seed: int) -> None:
        self.world, self.most, self.seed = world, calls, seed
        self.ledger, self.waits = Ledger(), list[float]()
        self.kernel = self.baseline = ""
        self.over = anyio.Event()

    async def run(self) -> None:
        """All of it."""
        await self._open()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._watch)
            tasks.start_soon(self._disturb)
            async with anyio.create_task_group() as clients:
                for number in range(CLIENTS):
                    clients.start_soon(self._client, number)
            self.over.set()
        self.world.event("calls over")
        await self._settle()

    async def _open(self) -> None:
        async with connected(self.world, "stdio", "auto") as (client, _):
            told = (
                await client.call_tool("open_kernel", {"spec_path": "spec.json"})
            ).structured_content
            while told and told["status"] in UNDER_WAY:
                told = (
                    await client.call_tool("job", {"job_id": told["job_id"]})
                ).structured_content
            assert told is not None
            self.kernel, self.baseline = told["result"]["kernel_id"], told["result"]["baseline"]

    async def _client(self, number: int) -> None:
        transport = "stdio" if number % 2 else "http"
        era: Era = "legacy" if number % 4 < 2 else "auto"
        drawn = Drawn(self.seed * 100 + number, self.kernel, self.baseline, self.ledger)
        visit = 0
        while self.ledger.calls < self.most:
            visit += 1
            while transport == "http" and self.world.http_turns % 2:
                await anyio.sleep(0.1)
            turns = self.world.http_turns
            try:
                async with connected(self.world, transport, era, f"{number}.{visit}") as (
                    client,
                    kill,
                ):
                    while self.ledger.calls < self.most:
                        await self._one(client, drawn, kill)
            except* Lost:
                pass
            except* Exception as failure:
                if transport == "stdio" or turns == self.world.http_turns:
                    self.ledger.fault(f"client {number} ({transport}): {flat(failure)}")
                self.ledger.endings["connection lost"] += 1

    async def _one(self, client: Client, drawn: Drawn, kill: Callable[[], None] | None) -> None:
        """One call and what becomes of it. Raises Lost."""
        call, chance = drawn.call(), drawn.random.random()
        self.ledger.tools[call.tool or call.method] += 1
        began, turns = time.monotonic(), self.world.http_turns
        patience = drawn.random.uniform(0.02, 1.0) if chance < GIVES_UP + VANISHES else ANSWER_S
        struck = kill is not None and GIVES_UP + VANISHES < chance < GIVES_UP + VANISHES + KILLED
        try:
            with anyio.move_on_after(patience) as scope:
                async with anyio.create_task_group() as tasks:
                    if struck and kill is not None:
                        tasks.start_soon(later, kill, drawn.random.uniform(0, 0.3))
                    await self._asked(client, call, drawn)
        except Exception as failure:
            if struck or (turns != self.world.http_turns and kill is None):
                self.ledger.endings["server killed"] += 1
                raise Lost from failure
            self.ledger.fault(f"{call}: {flat(failure)}")
            raise Lost from failure
        self.waits.append(time.monotonic() - began)
        if scope.cancelled_caught:
            self.ledger.endings["given up"] += 1
            if patience == ANSWER_S:
                self.ledger.fault(f"{call}: no answer in {ANSWER_S:.0f} s")
            if chance < VANISHES:
                raise Lost
        if struck:
            raise Lost

    async def _asked(self, client: Client, call: Call, drawn: Drawn) -> None:
        if call.method == "tools/list":
            await client.list_tools()
            self.ledger.endings["answered"] += 1
        elif call.method == "resources/read":
            await client.read_resource(call.arguments["uri"])
            self.ledger.endings["answered"] += 1
        else:
            asked = time.monotonic()
            result = await client.call_tool(call.tool, call.arguments)
            text = "".join(getattr(part, "text", "") for part in result.content)
            if result.is_error:
                self.ledger.refusal(call.tool, text)
            else:
                told: Reply = result.structured_content or {}
                self.ledger.reply(call.tool, told, text, asked)
                drawn.told(told)

    async def _watch(self) -> None:
        while not self.over.is_set():
            await anyio.to_thread.run_sync(self.world.look, self.ledger.calls)
            for job in self.world.forsaken():
                self.ledger.fault(f"{job} has had no living owner for long")
            with anyio.move_on_after(LOOK_S):
                await self.over.wait()

    async def _disturb(self) -> None:
        deeds = (self.world.kill_broker, self.world.stop_broker, self.world.kill_http)
        for number, share in enumerate(CHAOS):
            while self.ledger.calls < share * self.most and not self.over.is_set():
                await anyio.sleep(0.1)
            await anyio.to_thread.run_sync(deeds[number % len(deeds)])

    async def _settle(self) -> None:
        """Wait for every job that anybody was told of, and ask for all again."""
        async with connected(self.world, "stdio", "auto") as (client, _):
            for job_id in list(self.ledger.jobs):
                told = await self._end_of(client, job_id)
                self.ledger.ended(job_id, told)
            for variant_id in sorted(self.ledger.variants):
                asked = {"what": "variant", "id": variant_id}
                if (await client.call_tool("inspect", asked)).is_error:
                    self.ledger.fault(f"variant {variant_id} was told, and is not known")
        self.world.look(self.ledger.calls)
        for job in self.world.ownerless:
            self.ledger.fault(f"{job} has no living owner at the end")

    async def _end_of(self, client: Client, job_id: str) -> dict[str, Any]:
        deadline = time.monotonic() + 4 * ANSWER_S
        told: dict[str, Any] = {"status": "unknown"}
        while time.monotonic() < deadline:
            result = await client.call_tool("job", {"job_id": job_id, "wait_s": 45})
            if result.is_error or result.structured_content is None:
                return {"status": "lost", "error": str(result.content)}
            told = result.structured_content
            if told["status"] not in UNDER_WAY:
                break
        return told


def grown(memory: list[dict[str, Any]], name: str, calls: int) -> dict[str, float]:
    """Memory of the process that was there in the calm part: at its begin, its end, and most."""
    calm = [m for m in memory if m["calls"] >= CALM * calls and m[name] is not None]
    if name == "broker_mib" and calm:
        pid = calm[-1]["broker_pid"]
        warm = min(m["calls"] for m in memory if m["broker_pid"] == pid) + WARM
        calm = [m for m in calm if m["broker_pid"] == pid and m["calls"] >= warm]
    values = [m[name] for m in calm]
    if len(values) < 3:
        return {}
    third = max(1, len(values) // 3)
    first, last = statistics.median(values[:third]), statistics.median(values[-third:])
    return {"first_mib": first, "last_mib": last, "most_mib": max(values)}


def main() -> int:
    """Soak, judge, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--output", type=Path, help="in place of benchmarks/results")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kernelwright-soak-") as made:
        world = World(Path(made), Path(made).name)
        tiny_kernel(world.folder)
        with_known_peaks(world.outdir)
        soak = Soak(world, asked.calls, asked.seed)
        os.environ[MARK] = world.mark
        try:
            world.start_http()
            anyio.run(soak.run)
        finally:
            os.environ.pop(MARK)
            left = world.end()
        log = (world.outdir / "broker.log").read_text(encoding="utf-8", errors="replace")
        log += (world.folder / "http.log").read_text(encoding="utf-8", errors="replace")
    result = judged(soak, asked.seed, left, log)
    print(
        json.dumps(
            {k: v for k, v in result.items() if k not in ("faults", "memory", "log_end")}, indent=1
        )
    )
    for fault in result["faults"][:20]:
        print(fault)
    print(
        f"{result['calls']} calls, {len(result['jobs'])} kinds of job ends, "
        f"{len(result['faults'])} faults, in {result['seconds']} s"
    )
    print(f"written: {write('mcp_soak', result, asked.output)}")
    return 1 if result["faults"] else 0


def judged(soak: Soak, seed: int, left: list[str], log: str) -> dict[str, Any]:
    """What came of it, and everything that must not have been."""
    ledger, world = soak.ledger, soak.world
    growth = {n: grown(world.memory, n, soak.most) for n in ("broker_mib", "http_mib")}
    for name, told in growth.items():
        if told and told["last_mib"] - told["first_mib"] > GROWTH_MIB:
            ledger.fault(f"{name} grew: {told}")
    if left:
        ledger.fault(f"left running: {left}")
    if "Traceback" in log:
        at = log.index("Traceback")
        ledger.fault(f"a traceback after: {log[max(0, at - 200) : at]}")
    ends = Counter(told["status"] for told in ledger.jobs.values())
    return {
        "seed": seed,
        "calls": ledger.calls,
        "clients": CLIENTS,
        "tools": dict(ledger.tools.most_common()),
        "endings": dict(ledger.endings),
        "jobs": dict(ends),
        "variants_told": len(ledger.variants),
        "longest_text": ledger.longest,
        "median_ms": round(statistics.median(soak.waits) * 1000, 1),
        "longest_s": round(max(soak.waits), 2),
        "events": world.events,
        "memory_in_the_calm_part": growth,
        "memory": world.memory,
        "left": left,
        "log_end": log[-4000:],
        "seconds": world.now(),
        "faults": ledger.faults,
    }


if __name__ == "__main__":
    sys.exit(main())
