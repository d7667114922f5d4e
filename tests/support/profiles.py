"""Profiles made by hand, and reports that NVIDIA's module would not find a launch in."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from kernelwright.runners.profiling import readers, running
from kernelwright.runners.profiling.model import (
    Advice,
    Instruction,
    KernelProfile,
    LaunchShape,
    Metric,
    Profile,
)
from kernelwright.search.session.workbench import Workbench
from kernelwright.tools.ncu_summary import NcuSummaryArguments, ncu_summary


def launch(
    metrics: Mapping[str, float | str],
    *,
    kernel: str = "k",
    opcodes: Mapping[str, float] | None = None,
    advice: tuple[Advice, ...] = (),
    instructions: tuple[Instruction, ...] = (),
) -> KernelProfile:
    """One launch with these metrics; `opcodes`: warp instructions executed of each."""
    made = {
        name: Metric(value=value if isinstance(value, str) else float(value))
        for name, value in metrics.items()
    }
    if opcodes is not None:
        made["sass__inst_executed_per_opcode"] = Metric(
            value=float(sum(opcodes.values())), instances=dict(opcodes)
        )
    return KernelProfile(
        kernel=kernel,
        name=kernel,
        shape=LaunchShape(grid=(1024, 1, 1), block=(256, 1, 1)),
        device="NVIDIA H100 80GB HBM3",
        capability=90,
        metrics=made,
        advice=advice,
        instructions=instructions,
    )


def run(*launches: KernelProfile) -> Profile:
    """A profile of these launches."""
    return Profile(launches=launches, written_by="2025.3.1", read_by="a test")


def report_file(version: str = "2025.3.1", payload: bytes = b"") -> bytes:
    """A whole file of the form of a report, without launches, "written by" this version."""
    said = f"\x12{version}.0 (build 1) (public-release)".encode()
    header = b"\x1a" + bytes([len(said)]) + said + b"\x28" + bytes([len(payload)])
    return b"NVR\0" + _sized(b"\x08\x07") + _sized(header) + payload


def _sized(content: bytes) -> bytes:
    return len(content).to_bytes(4, "little") + content


def module(
    folder: Path,
    version: str = "2026.3.1",
    launches: int = 1,
    name: str = "k",
    entry: str = "_Z1k",
    *,
    grid: int | tuple[int, ...] = 4,
    block: int = 256,
) -> Path:
    """A folder with a stand-in for NVIDIA's module, which finds these launches in any report; with
    several grids they take turns."""
    folder.mkdir()
    grids = (grid,) if isinstance(grid, int) else grid
    text = MODULE.format(
        version=version, launches=launches, name=name, entry=entry, grids=grids, block=block
    )
    (folder / "ncu_report.py").write_text(text, encoding="utf-8")
    return folder


def stand_in_ncu(folder: Path, entry: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in for ncu, which leaves there what it was asked (`asked.json`), and
    prints `log` and gives `ready.ncu-rep` for a report, which holds one launch of `entry`."""
    program = folder / "tool" / "ncu"
    program.parent.mkdir()
    program.write_text(STAND_IN.format(python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    (program.parent / "ready.ncu-rep").write_bytes(report_file())
    found = module(folder / "module", entry=entry)
    monkeypatch.setattr(running, "program", lambda: program)
    monkeypatch.setattr(readers, "module_folders", lambda: (found,))
    return program.parent


STAND_IN = """\
#!{python}
import json, pathlib, subprocess, sys
words = sys.argv[1:]
here = pathlib.Path(__file__).parent
target = words.index({python!r})
done = subprocess.run(words[target:])
answer = pathlib.Path(words[-1]).parent / "answer.json"
told = json.loads(answer.read_text()) if answer.exists() else None
kept = {{"options": words[:target], "returncode": done.returncode, "answer": told}}
(here / "asked.json").write_text(json.dumps(kept))
print((here / "log").read_text() if (here / "log").exists() else "==PROF== Connected")
if (here / "ready.ncu-rep").exists():
    made = pathlib.Path(words[words.index("--export") + 1] + ".ncu-rep")
    made.write_bytes((here / "ready.ncu-rep").read_bytes())
"""
MODULE = '''\
"""Stands in for NVIDIA's module: its interface, over launches that this file names."""
class Values:
    def __init__(self, value, ids=()):
        self.told, self.ids = value, list(ids)
    def value(self, index=None):
        return self.told if index is None else self.ids[index][1]
    def unit(self): return "ns"
    def num_instances(self): return len(self.ids)
    def has_correlation_ids(self): return bool(self.ids)
    def correlation_ids(self): return Values(0, [(0, key) for key, _ in self.ids])
class Place:
    def file_name(self): return "k.cu"
    def line(self): return 7
SAMPLES = Values(30, [(0x1010, 20), (0x1020, 10), (0x1030, 0)])
METRICS = {{"gpu__time_duration.sum": Values(1500), "launch__grid_dim_x": None,
    "launch__block_dim_x": Values({block}.0), "launch__shared_mem_per_block_dynamic": Values(0.0),
    "a_share_of_nothing.pct": Values(float("nan")),
    "device__attribute_display_name": Values("a GPU"), "smsp__pcsamp_sample_count": SAMPLES,
    "launch__function_pcs": Values(1, [(0, 0x1000)]),
    "sass__inst_executed_per_opcode": Values(9, [("FFMA", 6), ("LDG", 3)])}}
class Action:
    def __init__(self, number): self.number = number
    def name(self, base=0): return {name!r} and ({name!r} if base == 0 else {entry!r})
    def metric_names(self): return [*METRICS, "not__there"]
    def metric_by_name(self, name):
        grids = {grids}
        if name == "launch__grid_dim_x": return Values(float(grids[self.number % len(grids)]))
        return METRICS.get(name)
    def sass_by_pc(self, pc): return "FFMA R1, R2, R3, R4"
    def ptx_by_pc(self, pc): return ""
    def source_info(self, pc): return Place()
    def rule_results_as_dicts(self):
        told = {{"title": "Tail Effect", "type": 2,
            "message": "See @section:Occupancy:Occupancy@ and the @url:Guide:https://x.y/z#a@."}}
        return [{{"rule_identifier": "LaunchConfiguration", "name": "n", "rule_message": told,
            "speedup_estimation": {{"type": 2, "speedup": 25.0}}}},
            {{"rule_identifier": "Silent", "rule_message": {{"type": 0, "message": ""}}}}]
class Range:
    def num_actions(self): return {launches}
    def action_by_idx(self, index): return Action(index)
class Context:
    def get_version(self): return {version!r}
    def num_ranges(self): return 1
    def range_by_idx(self, index): return Range()
def load_report(path): return Context()
'''


def keep_profile(
    bench: Workbench, variant_id: str, profile: Profile, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Have `ncu_summary` keep this profile of a variant, as if ncu had made it."""

    def made(_: str, __: str, kept: Path, *, full: bool) -> Profile:
        kept.write_bytes(report_file())
        return profile

    monkeypatch.setattr(bench.evaluator, "profile", made)
    ncu_summary(bench, NcuSummaryArguments(variant_id=variant_id, again=True))
