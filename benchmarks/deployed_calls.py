"""What a call of a deployed winner costs on the host: this loader, and another version's beside it.

    python benchmarks/deployed_calls.py [--device cuda] [--beside OTHER/deploy] [--rounds 5]
        [--out FILE]

Processes of each version measure in turns, as `deploy/cost.py` does; told are the medians over
rounds of its figures in microseconds, and the ratios of the other's to this one's in one round.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).resolve().parents[1] / "deploy"
LIMIT_S = 60
LOADED = "other_deploy"
"""another version by a name of its own: it measures by this one's way, with its own loader"""


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--beside", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measured(given.measure, given.device)))
        return
    versions = {"this": HERE} | ({"other": given.beside} if given.beside else {})
    rounds = [
        {name: asked(folder, given.device) for name, folder in versions.items()}
        for _ in range(given.rounds)
    ]
    told = {"device": given.device, **summary(rounds), "rounds": rounds}
    print(json.dumps({name: each for name, each in told.items() if name != "rounds"}, indent=1))
    if given.out:
        given.out.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def asked(folder: Path, device: str) -> dict[str, float]:
    """One version's figures, of a fresh process."""
    command = (sys.executable, __file__, "--device", device, "--measure", str(folder.resolve()))
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    if done.returncode:
        raise SystemExit(f"{folder}: {done.stderr[-800:]}")
    return json.loads(done.stdout.splitlines()[-1])


def measured(folder: Path, device: str) -> dict[str, float]:
    """In this process, the loader of `folder` under this version's measuring."""
    loaded(LOADED, folder / "__init__.py", [str(folder), str(HERE)])
    aten: Any = importlib.import_module(f"{LOADED}.aten")
    if not hasattr(aten, "put_in_place"):  # a loader of before: what `install` loads is loaded
        aten.load, aten.put_in_place = as_it_is, aten.install
    return loaded(f"{LOADED}.cost", HERE / "cost.py").call_costs(device)


def as_it_is(operator: Any) -> Any:
    """What stands for reading a folder, where there is an operator already."""
    return operator


def loaded(name: str, file: Path, search: list[str] | None = None) -> Any:
    """A module from its file, by another name."""
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=search)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} cannot be loaded")
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def summary(rounds: Sequence[Mapping[str, Mapping[str, float]]]) -> dict[str, Any]:
    """Medians by version, and of the ratios within rounds."""
    names = list(rounds[0])
    figures = list(rounds[0][names[0]])
    told: dict[str, Any] = {
        name: {f: round(median(r[name][f] for r in rounds), 3) for f in figures} for name in names
    }
    if "other" in names:
        told["other_over_this"] = {
            f: round(median(r["other"][f] / r["this"][f] for r in rounds), 3) for f in figures
        }
    return told


if __name__ == "__main__":
    main()
