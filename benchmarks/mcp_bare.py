"""What the server costs a client, beside a server of the SDK with one tool and nothing behind it.

usage: python benchmarks/mcp_bare.py [--starts 15] [--calls 200] [--claude CLAUDE] [--output FILE]

In one run, the two in turns: seconds from the start of a process to the answer to `tools/list`,
over stdio, files in the page cache; seconds of an `inspect kernels` and of the bare tool that
answers as much; bytes of `tools/list`. Then ten calls of a typical optimization of the matmul
example, with characters and tokens of what a model writes (tool and arguments) and reads (the
structured reply, as Claude Code shows it). Tokens are those of `@anthropic-ai/tokenizer` (npm), the
last tokenizer that Anthropic has published, which is that of Claude 2: later models count somewhat
otherwise. With the path of a Claude Code: what it loads, and what it finds for ten queries
(tests/clients/claude_found.py).
Writes benchmarks/results/mcp_bare.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from environment import ROOT, write
from mcp_lines import session

sys.path.insert(0, str(ROOT / "tests" / "support"))
from client_project import Target, project, target_of

BARE: Target = {
    "command": sys.executable,
    "args": [str(Path(__file__).with_name("mcp_bare_server.py"))],
}
WAIT_S = 45.0
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
TOKENIZER = CACHE / "kernelwright" / "tokenizer"
COUNT = """
const {countTokens} = require("@anthropic-ai/tokenizer");
const texts = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(texts.map(text => countTokens(text))));
"""
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("open_kernel", {"spec_path": "spec.json"}),
    ("inspect", {"what": "kernel", "id": "$kernel_id", "part": "source"}),
    ("propose_moves", {"kernel_id": "$kernel_id"}),
    ("search_step", {"kernel_id": "$kernel_id", "settings": {"budget_builds": 4}}),
    ("inspect", {"what": "search", "id": "$search_id"}),
    ("inspect", {"what": "variant", "id": "$incumbent"}),
    ("inspect", {"what": "variant", "id": "$incumbent", "part": "diff"}),
    ("time_variant", {"variant_id": "$incumbent"}),
    ("search_step", {"kernel_id": "$kernel_id", "settings": {"budget_builds": 8}}),
    ("export_variant", {"variant_id": "$incumbent", "path": "best.cpp"}),
)
KEPT = ("kernel_id", "search_id", "incumbent")


def main() -> int:
    """Measure, print, write."""
    asked = arguments()
    with tempfile.TemporaryDirectory(prefix="kernelwright-bare-") as made:
        folder = project(Path(made) / "project")
        with target_of(folder, "stdio") as target:
            result = started({"bare": BARE, "kernelwright": target}, asked.starts)
            print(json.dumps(result["start_to_tools_list"], indent=1), flush=True)
            result["inspect"] = inspected({"bare": BARE, "kernelwright": target}, asked.calls)
            print(json.dumps(result["inspect"], indent=1), flush=True)
            result["ten_calls"] = ten_calls(target)
            print(json.dumps(result["ten_calls"], indent=1), flush=True)
            if asked.claude:
                result["claude_code"] = found_by(asked.claude, target)
                print(json.dumps(result["claude_code"], indent=1), flush=True)
    print(f"written: {write('mcp_bare', result, asked.output)}")
    return 0


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--starts", type=int, default=15)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--claude", default="", help="the program, as `claude`")
    parser.add_argument("--output", type=Path, help="in place of benchmarks/results")
    return parser.parse_args()


def started(targets: dict[str, Target], starts: int) -> dict[str, Any]:
    """Seconds to the list, in turns after one start of each that counts for nothing; its bytes."""
    seconds = {name: list[float]() for name in targets}
    sizes = dict[str, int]()
    for turn in range(starts + 1):
        for name, target in targets.items():
            began = time.perf_counter()
            with session([target["command"], *target["args"]]) as server:
                listed = server.request("tools/list", {})
                took = time.perf_counter() - began
            sizes[name] = len(json.dumps(listed, separators=(",", ":")).encode())
            if turn:
                seconds[name].append(took)
    middle = {name: median(each) for name, each in seconds.items()}
    told = {
        name: {"median_s": round(middle[name], 3), "least_s": round(min(each), 3)}
        for name, each in seconds.items()
    }
    ratio = round(middle["kernelwright"] / middle["bare"], 2)
    least = round(min(seconds["kernelwright"]) / min(seconds["bare"]), 2)
    kept = {"starts": starts, **told, "ratio": ratio, "ratio_of_least": least}
    return {"start_to_tools_list": kept, "tools_list_bytes": sizes}


def inspected(targets: dict[str, Target], calls: int) -> dict[str, Any]:
    """Milliseconds of a call that reads, after one that counts for nothing."""
    found = dict[str, Any]()
    for name, target in targets.items():
        took = list[float]()
        with session([target["command"], *target["args"]]) as server:
            for _ in range(calls + 1):
                began = time.perf_counter()
                server.call("inspect", {"what": "kernels"})
                took.append(time.perf_counter() - began)
        first, ordered = took[0], sorted(took[1:])
        found[name] = {
            "first_ms": round(1e3 * first, 1),
            "median_ms": round(1e3 * median(ordered), 2),
            "p95_ms": round(1e3 * ordered[int(0.95 * len(ordered))], 2),
        }
    return {"calls": calls, **found}


def ten_calls(target: Target) -> dict[str, Any]:
    """What ten calls say and are told; a call that goes on as a job is waited for, and that counts
    among its own."""
    kept, rows = dict[str, Any](), list[dict[str, Any]]()
    with session([target["command"], *target["args"]]) as server:
        listed = server.request("tools/list", {})
        for tool, asked in CALLS:
            filled = {
                k: kept.get(str(v)[1:], v) if str(v)[:1] == "$" else v for k, v in asked.items()
            }
            said, told = [(tool, filled)], list[dict[str, Any]]()
            told.append(server.call(tool, filled))
            while told[-1].get("status") in ("queued", "running"):
                said.append(("job", {"job_id": told[-1]["job_id"], "wait_s": WAIT_S}))
                told.append(server.call(*said[-1]))
            found = told[-1].get("result", told[-1])
            kept |= {name: found[name] for name in KEPT if found.get(name)}
            texts = [compact(list(each)) for each in said], [compact(each) for each in told]
            rows.append({"tool": tool, "calls": len(said), "said": texts[0], "told": texts[1]})
    return counted(rows, compact(listed))


def found_by(claude: str, target: Target) -> dict[str, Any]:
    """What Claude Code loads and finds."""
    command = [sys.executable, str(ROOT / "tests" / "clients" / "claude_found.py"), claude]
    done = subprocess.run(
        command, input=json.dumps(target), capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def compact(value: object) -> str:
    """JSON as Claude Code shows a reply."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def counted(rows: Sequence[dict[str, Any]], listed: str) -> dict[str, Any]:
    """The rows with characters and tokens in place of texts."""
    texts = [("".join(row["said"]), "".join(row["told"])) for row in rows]
    tokens = tokens_of([listed, *(each for pair in texts for each in pair)])
    table = [
        {
            "tool": row["tool"],
            "calls": row["calls"],
            "said_tokens": tokens[1 + 2 * place],
            "told_tokens": tokens[2 + 2 * place],
            "told_characters": len(texts[place][1]),
        }
        for place, row in enumerate(rows)
    ]
    return {
        "tokenizer": "@anthropic-ai/tokenizer (Claude 2)",
        "tools_list_tokens": tokens[0],
        "said_tokens": sum(each["said_tokens"] for each in table),
        "told_tokens": sum(each["told_tokens"] for each in table),
        "each": table,
    }


def tokens_of(texts: Sequence[str]) -> list[int]:
    """Tokens of each text; the tokenizer is installed at the first use."""
    if not (TOKENIZER / "node_modules").is_dir():
        TOKENIZER.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--no-audit", "--no-fund", "@anthropic-ai/tokenizer@0.0.4"]
        subprocess.run(command, cwd=TOKENIZER, check=True, stdout=subprocess.DEVNULL)
    done = subprocess.run(
        ["node", "-e", COUNT],
        cwd=TOKENIZER,
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    sys.exit(main())
