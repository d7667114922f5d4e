"""An agent-like client of the MCP server on a GPU: opens the Triton softmax for shapes of its
own (few, wide rows), sends three candidates (one wrong, one slower, one faster), reads the
verdicts, exports.

Usage: python benchmarks/gpu_agent.py [OUTPUT]. Writes benchmarks/results/gpu_agent.json.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import anyio
from environment import ROOT, write
from mcp import Client, StdioServerParameters

EXAMPLE = ROOT / "examples" / "triton_softmax"
WORKLOADS = [
    {"name": "wide_rows", "symbols": {"rows": 1024, "cols": 16384}},
    {"name": "ragged", "symbols": {"rows": 777, "cols": 12345}, "held_out": True},
]
MASKED = 'other=-float("inf")'
THREE_PASSES = """\
    values = tl.load(x + row * cols + at, mask=inside, other=-float("inf"))
    largest = tl.max(values, axis=0)
    tl.debug_barrier()
    again = tl.load(x + row * cols + at, mask=inside, other=-float("inf"), volatile=True)
    total = tl.sum(tl.exp(again - largest), axis=0)
    tl.debug_barrier()
    last = tl.load(x + row * cols + at, mask=inside, other=-float("inf"), volatile=True)
    tl.store(y + row * cols + at, tl.exp(last - largest) / total, mask=inside)
"""


def candidates(source: str) -> dict[str, dict[str, Any]]:
    """The agent's three ideas as arguments of compile_variant."""
    head, body = source.split("    values = tl.load", 1)
    tail = body[body.index("\n\n\n") :]
    return {
        "wrong: what lies beyond a row counts as 0": {
            "source": source.replace(MASKED, "other=0.0"),
            "method": "softmax_math_fusion",
        },
        "slower: every row is read three times": {
            "source": head + THREE_PASSES + tail,
            "method": "three passes",
        },
        "faster: a row is shared by more warps": {
            "parameters": {"num_warps": 16},
            "method": "change_block_sizes",
        },
    }


async def converse(folder: Path) -> dict[str, Any]:
    """The whole conversation, told as facts."""
    server = StdioServerParameters(
        command=sys.executable,
        args=[
            *("-m", "kernelwright.server", "serve"),
            *("--root", str(folder), "--outdir", str(folder / "state")),
        ],
    )
    told: dict[str, Any] = {}
    async with Client(server) as client:
        spec = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
        opened, told["open_s"] = await _result(
            client, "open_kernel", spec={**spec, "workloads": WORKLOADS}
        )
        told["opened"] = {k: opened.get(k) for k in ("tier", "workloads", "headroom", "notes")}
        kernel_id, rows = opened["kernel_id"], list[dict[str, Any]]()
        source = (folder / "softmax.py").read_text(encoding="utf-8")
        best = None
        for idea, arguments in candidates(source).items():
            built, build_s = await _result(
                client, "compile_variant", kernel_id=kernel_id, base="baseline", **arguments
            )
            row: dict[str, Any] = {"idea": idea, "built": built["ok"], "compile_s": build_s}
            row["registers"] = [k.get("registers") for k in built.get("kernels", ())]
            if built["ok"]:
                timed, row["time_s"] = await _result(
                    client, "time_variant", variant_id=built["variant_id"]
                )
                row |= {k: timed.get(k) for k in ("ending", "speedup", "interval", "message")}
                best = built["variant_id"] if timed.get("became_incumbent") else best
            rows.append(row)
        told["candidates"] = rows
        if best is not None:
            exported, _ = await _result(client, "export_variant", variant_id=best)
            told["exported"] = {
                k: exported.get(k) for k in ("verified", "confirmation", "baked", "launch")
            }
    return told


async def _result(client: Client, tool: str, **arguments: Any) -> tuple[dict[str, Any], float]:
    """The result of a tool, waited for as its replies say, and the seconds that it took."""
    started = time.monotonic()
    reply = await _ask(client, tool, arguments)
    while reply["status"] in ("queued", "running"):
        reply = await _ask(client, "job", {"job_id": reply["job_id"]})
    if reply["status"] != "done":
        raise RuntimeError(f"{tool}: {reply}")
    return reply["result"], round(time.monotonic() - started, 2)


async def _ask(client: Client, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    if answer.is_error or answer.structured_content is None:
        raise RuntimeError(f"{tool}: {answer.content}")
    return answer.structured_content


def main() -> None:
    """Run the conversation on a copy of the example, print it and write it down."""
    output = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "softmax"
        shutil.copytree(EXAMPLE, folder)
        told = anyio.run(converse, folder)
    for row in told["candidates"]:
        print(f"{row['idea']}: {row.get('ending')} {row.get('message', '')[:120]}")
    print(f"exported: {told.get('exported')}")
    print(write("gpu_agent", told, output))


if __name__ == "__main__":
    main()
