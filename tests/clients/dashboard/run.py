"""The dashboard in headless Chromium: under the HTTP server, and within a client (MCP Apps).

Run: `python tests/clients/dashboard/run.py`. Looks at it in light, dark and 400 px wide with a node
of the graph open, and asks axe. Needs `npm` (a network once) and Chromium. Shows a search of its
own, or `--outdir` of an earlier run; leaves pictures in `--pictures`. Ends with 1 where the console
says anything, axe finds anything, the page is wider than its window, the keyboard leads nowhere, or
the page within a client does not draw, asks elsewhere or wears other colours.
pytest does not collect it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from client_project import COMMAND, project, said_by, served

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
SCRIPTS = ("look.mjs", "embed.mjs")
INSTALLED = CACHE / "kernelwright" / "test-dashboard"
LIMIT_S = 1200.0


def main() -> int:
    """Serve, look, tell."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--chromium", default=shutil.which("chromium") or "chromium")
    parser.add_argument("--outdir", type=Path, help="of an earlier run")
    parser.add_argument("--pictures", type=Path, default=Path("dashboard-pictures"))
    parser.add_argument("--node-folder", type=Path, default=INSTALLED)
    asked = parser.parse_args()
    asked.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="kernelwright-dashboard-") as made:
        state = asked.outdir or searched(Path(made))
        report = looked(state, asked.chromium, installed(asked.node_folder), asked.pictures)
    inside = report["embedded"]
    print(report["chromium"])
    for view in report["views"]:
        print(
            f"{view['name']:6} nodes {view['nodes']}, console {view['console'] or 'silent'}, axe "
            f"{[each['id'] for each in view['violations']] or 'clean'}, wider by "
            f"{view['wider_by']} px, keyboard {view['keyboard']}"
        )
    print(f"in a client: {inside['mime']}, {inside['bytes']} bytes, {inside['meta']}")
    for view in inside["views"]:
        print(
            f"{view['theme']:6} {view['graph']}, nodes {view['nodes']}, opened {view['variant']}, "
            f"console {view['console'] or 'silent'}, paper {view['paper']}"
        )
    print(f"pictures: {asked.pictures}")
    clean = all(map(is_clean, report["views"])) and all(map(is_shown, inside["views"]))
    return 0 if clean else 1


def searched(folder: Path) -> Path:
    """The state folder of a small search."""
    spec = project(folder / "project") / "spec.json"
    command = [COMMAND, "optimize", "--input", str(spec), "--outdir", str(folder / "out")]
    subprocess.run([*command, "--budget-builds", "3"], check=False, stdin=subprocess.DEVNULL)
    return folder / "out"


def installed(folder: Path) -> Path:
    """Put what looks into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted, there = HERE / "package.json", folder / "package.json"
    if not there.exists() or there.read_bytes() != wanted.read_bytes():
        shutil.copy(wanted, there)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund"], cwd=folder, check=True)
    for script in SCRIPTS:
        shutil.copy(HERE / script, folder)
    return folder


def looked(state: Path, chromium: str, folder: Path, pictures: Path) -> dict[str, Any]:
    """What is found on the page of a server over HTTP, opened with a token of scope read."""
    name = f"look-{os.getpid()}"
    token = said_by("token", "make", name, "--scope", "read", "--outdir", str(state)).split()[-1]
    serve = [COMMAND, "serve", "--http", "0", "--outdir", str(state), "--root", str(state)]
    try:
        with served(serve) as url:
            link, kept = f"{url.removesuffix('mcp')}ui/?token={token}", str(pictures.absolute())
            report = said_by_node(folder / "look.mjs", chromium, link, kept)
            inside = said_by_node(folder / "embed.mjs", chromium, url, token, kept)
    finally:
        said_by("token", "revoke", name, "--outdir", str(state))
    return {**report, "embedded": inside}


def said_by_node(script: Path, *arguments: str) -> dict[str, Any]:
    """The report of a script. Raises RuntimeError with what it complained of."""
    command = ["node", str(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise RuntimeError(done.stderr[-2000:])
    return json.loads(done.stdout)


def is_shown(view: dict[str, Any]) -> bool:
    """Whether the page within a client drew the search and opened its best in the client's
    colours, asked for nothing but through the client, and told its size."""
    paper = {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[view["theme"]]
    told = "ui/notifications/size-changed" in view["heard"]
    drawn = view["nodes"] and view["variant"] and "Roofline" in " ".join(view["headings"])
    return bool(not view["console"] and told and drawn and view["paper"] == paper)


def is_clean(view: dict[str, Any]) -> bool:
    """Whether nothing was found, and the keyboard opened a node."""
    found = view["console"] or view["violations"] or view["wider_by"] > 0
    return not found and view["keyboard"].get("focused") == "variant"


if __name__ == "__main__":
    sys.exit(main())
