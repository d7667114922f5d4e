"""Every client drives a whole optimization: `python tests/clients/run.py [CLIENT...]`.

Clients: Inspector, both TypeScript SDKs, the Python SDK in both eras, Claude Code (offline); each
over stdio and over HTTP, on a project of its own, waiting for no other's timing (so that its times
are no figures). Needs `npm`; what it installs lies in the user's cache. Prints a table and writes
`benchmarks/results/mcp_clients.json` after each; ends with 1 unless all finished. pytest does not
collect it: it needs a network once, and some minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from client_project import Target, left_over, project, target_of
from environment import RESULTS, write

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
INSTALLED = CACHE / "kernelwright" / "test-clients"
CLIENTS = {
    "python-auto": (sys.executable, str(HERE / "python_sdk.py"), "auto"),
    "python-legacy": (sys.executable, str(HERE / "python_sdk.py"), "legacy"),
    "typescript-v1": ("node", "typescript_v1.mjs"),
    "typescript-v2": ("node", "typescript_v2.mjs"),
    "inspector": (sys.executable, str(HERE / "inspector.py"), "mcp-inspector"),
    "claude-code": (sys.executable, str(HERE / "claude_code.py"), "claude"),
}
"""what starts each; it reads its target on stdin, and prints its report as its last line"""
TRANSPORTS = ("stdio", "http")


@dataclass(frozen=True)
class Row:
    """One client over one transport."""

    client: str
    transport: str
    seconds: float
    finished: list[str]
    report: dict[str, Any] = field(default_factory=dict[str, Any])
    failure: str = ""
    left: list[str] = field(default_factory=list[str])
    """processes that outlived client, server and broker"""

    @property
    def whole(self) -> bool:
        """Whether it did all of it and left nothing behind."""
        return not self.failure and not self.left


def main() -> int:
    """Drive, print, write."""
    asked = arguments()
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # by way of `finally`
    path = installed(asked.node_folder)

    pairs = list(product(asked.transport or TRANSPORTS, asked.clients or CLIENTS))
    before = earlier(asked.output, pairs) if asked.add else []
    rows: list[Row] = []

    def keep() -> Path:
        kept = {"versions": versions(asked.node_folder), "rows": [*before, *map(asdict, rows)]}
        return write("mcp_clients", kept, asked.output)

    pool = ThreadPoolExecutor(asked.at_once)
    try:
        begun = [
            pool.submit(driven, client, transport, asked.limit, asked.node_folder, path)
            for transport, client in pairs
        ]
        for done in as_completed(begun):
            rows.append(done.result())
            print(line(rows[-1]), flush=True)
            keep()
    finally:
        pool.shutdown(cancel_futures=True)
    print(f"written: {keep()}")
    return 0 if all(row.whole for row in rows) else 1


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--transport", action="append", choices=TRANSPORTS)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a client may take")
    parser.add_argument("--at-once", type=int, default=1, help="clients side by side")
    parser.add_argument("--node-folder", type=Path, default=INSTALLED)
    parser.add_argument("--output", type=Path, help="in place of benchmarks/results")
    parser.add_argument("--add", action="store_true", help="keep the file's rows of other pairs")
    asked = parser.parse_args()
    if unknown := set(asked.clients) - CLIENTS.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(CLIENTS)}")
    return asked


def installed(folder: Path) -> str:
    """Put the clients into the folder; the PATH with them (and a new Node) in front."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted, there = HERE / "package.json", folder / "package.json"
    new = not there.exists() or there.read_bytes() != wanted.read_bytes()
    if new or not (folder / "node_modules" / ".bin").is_dir():
        shutil.copy(wanted, there)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    for file in (*HERE.glob("*.mjs"), HERE / "journey.json"):
        shutil.copy(file, folder)  # Node looks for packages from where a module lies
    claude = folder / "node_modules" / "@anthropic-ai" / "claude-code-linux-x64"
    return os.pathsep.join([str(folder / "node_modules" / ".bin"), str(claude), os.environ["PATH"]])


def driven(client: str, transport: str, limit: float, node_folder: Path, path: str) -> Row:
    """One client's journey, ended when its time is over."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="kernelwright-client-") as made:
        folder = project(Path(made) / "project")
        try:
            scratch = Path(made) / "tmp"
            scratch.mkdir()
            with target_of(folder, transport, scratch) as target:
                report = reported(CLIENTS[client], target, limit, node_folder, path)
                if not (folder / "best.cpp").is_file():
                    raise RuntimeError("no file was exported")
                failure = ""
        except (RuntimeError, subprocess.SubprocessError, OSError) as error:
            report, failure = {}, str(error)
        left = left_over(folder)
    steps = [step["tool"] for step in report.get("steps", ())]
    seconds = round(time.monotonic() - began, 1)
    return Row(client, transport, seconds, steps, report, failure, left)


def reported(
    command: tuple[str, ...], target: Target, limit: float, folder: Path, path: str
) -> dict[str, Any]:
    """What a client's process says that it finished; its process group ends with it."""
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(json.dumps(target), timeout=limit)
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"it did not end in {limit:.0f} s") from None
    finally:
        end(process)
    if process.returncode:
        raise RuntimeError(complained[-2000:])
    return json.loads(said.splitlines()[-1])


def end(process: subprocess.Popen[str]) -> None:
    """End and reap the process and all of its group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # all of it had ended
    with process:  # closes the pipes: a server may still hold their other ends
        pass


def earlier(path: Path | None, pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """The file's rows of transports and clients that are not driven now."""
    path = path or RESULTS / "mcp_clients.json"
    kept = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else ()
    return [row for row in kept if (row["transport"], row["client"]) not in pairs]


def line(row: Row) -> str:
    """A row of the table."""
    speedup = row.report.get("kept", {}).get("incumbent_speedup")
    what = " ".join(row.finished) + (f" {speedup}x" if speedup else "")
    ended = row.failure.strip().splitlines()[-1][:200] if row.failure else what
    left = f"  LEFT {len(row.left)}" if row.left else ""
    era = row.report.get("era", "")
    return f"{row.client:14} {row.transport:6} {row.seconds:6.1f} s  {era:11} {ended}{left}"


def versions(folder: Path) -> dict[str, str]:
    """Of each client, as installed."""
    names = json.loads((HERE / "package.json").read_text(encoding="utf-8"))["dependencies"]
    found = {n: folder / "node_modules" / n / "package.json" for n in names}
    return {n: json.loads(p.read_text(encoding="utf-8"))["version"] for n, p in found.items()}


if __name__ == "__main__":
    sys.exit(main())
