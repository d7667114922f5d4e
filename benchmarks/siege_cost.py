"""What gates cost: an earlier checkout and this one in turns, on one machine, in one run.

Usage: python benchmarks/siege_cost.py EARLIER [--host] [--count 100] [--turns 2] [--pages N]
    [--output FILE]

EARLIER is a folder with another commit's files, such as those of `git archive`. Each checkout gets
an installation of its own beside this Python's packages, and runs its own `eval_throughput.py`
(CUDA and Triton; `--host`: host C++) and its own `selftest` of the honest pages that both have: of
those that were promoted in every turn, the seconds that one takes, build, comparison and all gates.
A B A B. The promotion alone is told where a checkout tells it. Writes
benchmarks/results/siege_cost*.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import venv
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from environment import ROOT, write

PROMOTED = ("cuda/honest_", "triton/honest_"), ("cpp/honest_",)
"""pages of GPUs, and of a host"""
SIDES = ("earlier", "this")


def main() -> None:
    """Measure in turns, print a table, and write the result."""
    wanted = _arguments()
    trees = dict(zip(SIDES, (wanted.earlier.resolve(), ROOT), strict=True))
    name = "siege_cost" + "_host" * wanted.host
    pages = _pages(trees.values(), PROMOTED[bool(wanted.host)])[: wanted.pages]
    with tempfile.TemporaryDirectory() as folder:
        pythons = {side: _installed(tree, Path(folder) / side) for side, tree in trees.items()}
        turns = [
            {"side": side, **_turn(pythons[side], trees[side], wanted, pages)}
            for _ in range(wanted.turns)
            for side in SIDES
        ]
    result = {"pages": pages, "summary": _summary(turns), "turns": turns}
    print(json.dumps(result["summary"], indent=1))
    out = os.environ.get("OUT")
    print(write(name, result, wanted.output or (Path(out) / f"{name}.json" if out else None)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("earlier", type=Path)
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--turns", type=int, default=2)
    parser.add_argument("--pages", type=int, help="honest pages at most; 0: throughput alone")
    parser.add_argument("--output", type=Path)
    return parser.parse_args()


def _pages(trees: Iterable[Path], begins: Sequence[str]) -> list[str]:
    """Honest pages that all have."""
    found = [
        {f"{p.parts[-2]}/{p.name}" for p in (tree / "tests" / "cheats").glob("*/honest_*")}
        for tree in trees
    ]
    return sorted(n for n in set[str].intersection(*found) if n.startswith(tuple(begins)))


def _installed(tree: Path, folder: Path) -> Path:
    """A Python that finds this checkout's packages, and beside them what this one has."""
    venv.create(folder, with_pip=False)
    packages = folder / "packages"
    _copy_packages(tree, packages / "kernelwright")
    own = next((folder / "lib").glob("python*/site-packages"))
    standard = Path(sysconfig.get_path("stdlib"))
    known = (Path(__file__).parent, standard, standard / "lib-dynload")
    beside = [p for p in sys.path if os.path.isdir(p) and Path(p) not in known]
    (own / "beside.pth").write_text("\n".join([str(packages), *beside]) + "\n", encoding="utf-8")
    return folder / "bin" / "python"


def _copy_packages(tree: Path, package: Path) -> None:
    """As an installation would have them: a confined process opens no file outside of it."""
    settings = tomllib.loads((tree / "pyproject.toml").read_text(encoding="utf-8"))
    folders: dict[str, str] = settings["tool"]["setuptools"]["package-dir"]
    listed: list[str] = settings["tool"]["setuptools"]["packages"]
    root = Path(folders.pop("kernelwright"))
    for name in listed:
        first = name.split(".")[1:2]
        if first and f"kernelwright.{first[0]}" not in folders:
            folders[f"kernelwright.{first[0]}"] = str(root / first[0])
    package.mkdir(parents=True)
    for file in (tree / root).glob("*.py"):
        shutil.copy(file, package)
    for name, folder in folders.items():
        below = name.removeprefix("kernelwright.").replace(".", "/")
        shutil.copytree(tree / folder, package / below, dirs_exist_ok=True)


def _turn(
    python: Path, tree: Path, wanted: argparse.Namespace, pages: Sequence[str]
) -> dict[str, Any]:
    """One run of a checkout's own programs, from their start to their end."""
    with tempfile.TemporaryDirectory() as folder:
        told, tried = Path(folder) / "throughput.json", Path(folder) / "selftest.json"
        how = ["--host"] if wanted.host else ["--today", "0"]
        script = [str(tree / "benchmarks" / "eval_throughput.py"), "--count", str(wanted.count)]
        _run([str(python), *script, *how, "--output", str(told)], tree)
        only = [word for page in pages for word in ("--only", page)]
        command = "from kernelwright.server.cli import main; main()"
        throughput = json.loads(told.read_text(encoding="utf-8"))
        outcomes = list[dict[str, Any]]()
        if pages:
            _run([str(python), "-c", command, "selftest", *only, "--json", str(tried)], tree)
            outcomes = json.loads(tried.read_text(encoding="utf-8"))["outcomes"]
    return {
        "throughput": {row["kind"]: row for row in throughput["kinds"]},
        "promoted": {o["name"]: o["seconds"] for o in outcomes if _promoted(o)},
        "promotions": {
            o["name"]: o["stages"]["promote"] for o in outcomes if "promote" in o.get("stages", {})
        },
        "ended": {o["name"]: o["ending"] for o in outcomes},
    }


def _run(command: Sequence[str], tree: Path) -> None:
    environment = {k: v for k, v in os.environ.items() if k not in ("OUT", "PYTHONPATH")}
    done = subprocess.run(command, cwd=tree, env=environment, check=False)
    if done.returncode not in (0, 1) or (done.returncode and "selftest" not in command):
        # a selftest that ends with 1 stopped an honest page, which `ended` tells
        raise SystemExit(f"{' '.join(command[:4])} ended with {done.returncode}")


def _promoted(outcome: Mapping[str, Any]) -> bool:
    return outcome["verdict"] == "passed" and outcome["ending"] == "faster"


def _summary(turns: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Medians of each side over its turns; of pages, of those that all turns promoted."""
    kinds = turns[0]["throughput"]
    promoted: list[set[str]] = [set(turn["promoted"]) for turn in turns]
    shared = set[str].intersection(*promoted)

    def rate(side: str, kind: str) -> float:
        return median(t["throughput"][kind]["per_second"] for t in turns if t["side"] == side)

    def seconds(side: str, page: str) -> float:
        return round(median(t["promoted"][page] for t in turns if t["side"] == side), 3)

    rates = {kind: {side: rate(side, kind) for side in SIDES} for kind in kinds}
    pages = {page: {side: seconds(side, page) for side in SIDES} for page in sorted(shared)}
    more = [each["this"] - each["earlier"] for each in pages.values()]
    return {
        "evaluations_a_second": rates,
        "seconds_an_evaluation_more": {
            kind: round(each["earlier"] / each["this"] - 1, 3) for kind, each in rates.items()
        },
        "promoted_page_s": pages,
        "promoted_page_s_more": round(median(more), 3) if more else None,
    }


if __name__ == "__main__":
    main()
