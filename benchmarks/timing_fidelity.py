"""How often a comparison errs, on machine code whose true difference is known.

    python benchmarks/timing_fidelity.py [--host] [--part aa|planted|do_bench] [--kernel 2us ...]
        [--comparisons N] [--seconds S] [--result FILE]

aa        a kernel against itself, loaded separately: each `faster` or `slower` is a false verdict
planted   a kernel against itself with some work more: the share of gains that is found
do_bench  what `triton.testing.do_bench` says of the same machine code with a threshold of 1 %
          (needs torch, triton, and what `planted` has found)

Times are taken as an evaluation takes them, by the product's own comparison. A run adds to what its
result file holds of the same machine, so that parts can be measured one by one; --seconds ends a
run early with what it has.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from environment import RESULTS, environment
from fidelity_do_bench import do_bench_part
from fidelity_kernels import DEVICE_CASES, HOST_CASES, Case
from fidelity_lab import Lab

from kernelwright.runners.device.presence.probing import probe_devices
from kernelwright.runners.model import Comparison
from kernelwright.runners.specs.devices import DeviceFacts

Result = dict[str, Any]
Expired = Callable[[], bool]

AA = {"device": 700, "native": 75}
PLANTED = {"device": 200, "native": 40}
"""comparisons of each kernel: 4200 of the six on a device, 300 of the four on a host"""
TIMES_RESOLUTION = (2.5, 5.0)
"""planted differences: 1 % and 2 % where the resolution is 0.4 %"""
NEAR = {"device": 0.1, "native": 0.2}
"""share by which the true difference may miss the one planted, and the width of its interval; what
a host repeats from one load of the same code to the next allows no less"""
TRIES = 6
PLACE = ("cpu", "gpu", "driver")
"""what has to be the same for results to be added to each other"""


def main() -> None:
    """Measure the parts asked for, one kernel after the other."""
    asked = arguments()
    path: Path = asked.result or RESULTS / f"timing_fidelity{'_host' if asked.host else ''}.json"
    deadline = time.monotonic() + asked.seconds
    with tempfile.TemporaryDirectory() as scratch:
        device = None if asked.host else first_device(Path(scratch))
        cases = [c for c in (HOST_CASES if asked.host else DEVICE_CASES) if c.name in asked.kernel]
        for case in cases:
            (folder := Path(scratch) / case.name).mkdir()
            with closing(Lab(case, folder, device)) as lab:
                place = {"tier": case.tier, "resolution": lab.plan.resolution}
                result: Result = {**known(path), **place}
                found = result["kernels"].setdefault(case.name, {})
                try:
                    measure(lab, found, asked, lambda: time.monotonic() > deadline)
                finally:  # what was measured is kept, whatever ends it
                    keep(path, result)
    print(path)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    names = tuple(dict.fromkeys(c.name for c in (*DEVICE_CASES, *HOST_CASES)))
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--host", action="store_true", help="host C++ instead of a GPU")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=["aa", "planted"])
    parser.add_argument("--kernel", nargs="+", choices=names, default=names)
    parser.add_argument(
        "--comparisons", type=int, help=f"of a kernel (against itself {AA}, planted {PLANTED})"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for the whole run")
    parser.add_argument("--result", type=Path, help="a file, not one of benchmarks/results/")
    return parser.parse_args()


def first_device(scratch: Path) -> DeviceFacts:
    """The GPU to measure on."""
    probed = probe_devices(scratch)
    if not probed.devices:
        raise SystemExit(f"no GPU: {probed.why_none}; --host measures host code")
    return probed.devices[0]


def known(path: Path) -> Result:
    """What was measured here before; nothing, if that was another machine."""
    here = environment()
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        if all(before["environment"].get(k) == here.get(k) for k in PLACE):
            return {**before, "environment": here}
        raise SystemExit(f"{path} is of another machine: move it away, or name another --result")
    return {"environment": here, "kernels": {}}


def keep(path: Path, result: Result) -> None:
    """Write the result, one comparison a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def measure(lab: Lab[Case], found: Result, asked: argparse.Namespace, expired: Expired) -> None:
    """The parts asked for of one kernel, into `found`."""
    if "knob" not in found:
        target = lab.case.target_us
        found["knob"] = lab.case.least if target is None else lab.knob_for(target * 1e-3)
    for part in asked.part:
        PARTS[part](lab, found, asked.comparisons, expired)


def against_itself(lab: Lab[Case], found: Result, count: int | None, expired: Expired) -> None:
    """A kernel against the same machine code under another name, loaded anew each time."""
    lab.load("first", found["knob"], check=True)
    lab.load("twin", found["knob"], check=True)
    rows = found.setdefault("aa", {}).setdefault("comparisons", [])
    for _ in range(count or AA[lab.case.tier]):
        if expired():
            break
        lab.load("twin", found["knob"])
        rows.append(row(lab.compare("twin", "first")))
        if rows[-1].split()[3] != "tie":
            print(f"{lab.case.name}: against itself {rows[-1]}", flush=True)
    told(lab, "aa", found["aa"], rows)


def planted(lab: Lab[Case], found: Result, count: int | None, expired: Expired) -> None:
    """A kernel against itself with more work: how often the gain is found."""
    differences = found.setdefault("planted", {})
    for times in TIMES_RESOLUTION:
        wanted = round(times * lab.plan.resolution, 4)
        entry = differences.setdefault(str(wanted), {})
        if not entry.get("near") and not expired():
            entry |= search(lab, found["knob"], wanted, expired)
        if not entry.get("near"):
            print(f"{lab.case.name}: no difference near {wanted:.1%} was found", flush=True)
            continue
        lab.load("slow", entry["slow_knob"], check=True)
        lab.load("fast", found["knob"], check=True)
        rows = entry.setdefault("comparisons", [])
        for _ in range(count or PLANTED[lab.case.tier]):
            if expired():
                break
            lab.load("fast", found["knob"])
            rows.append(row(lab.compare("fast", "slow")))
        told(lab, f"planted {wanted:.1%} (truly {entry['true']:.3%})", entry, rows)


def search(lab: Lab[Case], knob: int, wanted: float, expired: Expired) -> Result:
    """A knob at which the true difference is near the one wanted; `near` says if it is."""
    step = max(8, round(0.2 * knob)) if lab.case.kind == "spin" else 100
    near_by = NEAR[lab.case.tier] * wanted
    true, low, high, blocks = lab.truth(knob, knob + step, near_by)
    slow, near = knob + max(1, round(step * wanted / max(true, 1e-6))), False
    for _ in range(TRIES):
        true, low, high, blocks = lab.truth(knob, slow, near_by)
        print(f"{lab.case.name}: knob {slow} is {true:.3%} slower ({low:.3%} to {high:.3%})")
        near = abs(true - wanted) <= near_by and high - low <= near_by
        if near or true <= 0 or expired():
            break
        slow = knob + max(1, round((slow - knob) * wanted / true))
    names = ("slow_knob", "true", "low", "high", "blocks", "near")
    return dict(zip(names, (slow, true, low, high, blocks, near), strict=True))


def row(found: Comparison) -> str:
    """Speedup, interval, judgement, blocks, dropped ones, ms a call, seconds, busy seconds."""
    ratio, ms = found.ratios[0], found.workloads[0].median_ms[found.candidate]
    return (
        f"{ratio.speedup:.5f} {ratio.low:.5f} {ratio.high:.5f} {ratio.judgement} {found.blocks} "
        f"{found.dropped_blocks} {ms:.6f} {found.seconds:.3f} {found.busy_s:.4f}"
    )


def told(lab: Lab[Case], what: str, entry: Result, rows: Sequence[str]) -> None:
    """What all rows come to, kept and printed."""
    if not rows:
        return
    cells = [each.split() for each in rows]
    judged = [c[3] for c in cells]
    names = ("blocks", "dropped", "ms", "seconds", "busy_s")
    means = {n: sum(float(c[i]) for c in cells) / len(cells) for i, n in enumerate(names, 4)}
    entry["summary"] = {
        "count": len(rows),
        **{name: judged.count(name) for name in ("faster", "slower", "tie", "unstable")},
        **{f"mean_{name}": round(value, 6) for name, value in means.items()},
        "largest": max(abs(float(c[0]) - 1) for c in cells),
    }
    print(f"{lab.case.name}: {what}: {entry['summary']}", flush=True)


PARTS: dict[str, Callable[[Lab[Case], Result, int | None, Expired], None]] = {
    "aa": against_itself,
    "planted": planted,
    "do_bench": do_bench_part,
}


if __name__ == "__main__":
    main()
