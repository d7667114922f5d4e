"""What ncu and the rules make of eight planted faults and of their repaired twins.

    python benchmarks/ncu_planted.py [REPORTS [RESULT.json]]

For each kernel: seconds that a profile takes, its findings in order, its card, and which metrics
the rules miss; with REPORTS, a folder, the .ncu-rep files are kept there. Written to
benchmarks/results/ncu_planted.json. Needs a GPU, ncu, NVRTC and leave to read counters.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from environment import ROOT, write

sys.path.insert(0, str(ROOT / "tests" / "support"))
from device_kernels import DeviceBench
from planted_kernels import PAIRS, Kernel, N, Pair, profiled

from kernelwright.analysis.rules.card import card
from kernelwright.analysis.rules.findings import findings
from kernelwright.runners.device.presence.probing import probe_devices
from kernelwright.runners.errors import KernelwrightError
from kernelwright.runners.profiling import readers
from kernelwright.runners.profiling.permission import why_no_counters
from kernelwright.runners.specs.devices import DeviceFacts
from kernelwright.runners.watched.running import tool_version


def main() -> None:
    """Every pair, printed and written."""
    words = [Path(word) for word in sys.argv[1:]]
    with TemporaryDirectory() as folder:
        probed = probe_devices(Path(folder))
        tool = readers.program()
        if not probed.devices or tool is None or why_no_counters():
            raise SystemExit(probed.why_none or why_no_counters() or "no ncu here")
        device = probed.devices[0]
        bench = DeviceBench.of(device, Path(folder), symbols={"n": N}, slots=1)
        reports = words[0] if words else Path(folder) / "reports"
        reports.mkdir(parents=True, exist_ok=True)
        pairs = {rule: _pair(bench, device, rule, reports) for rule in PAIRS}
        bench.runner.close()
    right = [rule for rule, found in pairs.items() if _right(rule, found)]
    print(f"{len(right)} of {len(pairs)} faults come first and vanish when repaired")
    result = {"ncu": tool_version(tool), "right": right, "pairs": pairs}
    print(write("ncu_planted", result, words[1] if len(words) > 1 else None))


def _pair(bench: DeviceBench, device: DeviceFacts, rule: str, reports: Path) -> dict[str, Any]:
    pair = PAIRS[rule]
    twins = {"faulty": pair.faulty, "repaired": pair.repaired}
    return {
        name: _one(bench, device, pair, kernel, reports / f"{rule}.{name}.ncu-rep")
        for name, kernel in twins.items()
    }


def _one(
    bench: DeviceBench, device: DeviceFacts, pair: Pair, kernel: Kernel, report: Path
) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        profile = profiled(bench, device, kernel, report)
    except KernelwrightError as error:
        print(f"{report.stem}: {error}")
        return {"error": str(error)}
    seconds = round(time.perf_counter() - started, 2)
    found = findings(profile, pair.facts)
    text = card(profile, found)
    print(f"== {report.stem}, {seconds} s\n{text}\n")
    return {
        "seconds": seconds,
        "report_bytes": report.stat().st_size,
        "metrics": len(profile.launches[0].metrics),
        "instructions": len(profile.launches[0].instructions),
        "findings": [f"{each.rule} {each.severity}" for each in found.ranked],
        "silent": found.silent,
        "missing": {each.rule: each.missing for each in found.unknown},
        "card": text.splitlines(),
    }


def _right(rule: str, found: dict[str, Any]) -> bool:
    faulty, repaired = found["faulty"], found["repaired"]
    first = faulty.get("findings") or [""]
    return first[0].split()[0:1] == [rule] and rule in repaired.get("silent", ())


if __name__ == "__main__":
    main()
