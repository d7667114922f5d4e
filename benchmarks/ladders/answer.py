"""A planner that a person wrote: the next step of a ladder of sources, for `--planner command`.

    python answer.py FOLDER < question.json

A source names its own step (`// step 3: ...`), and its launch (`// launch: {...}`); the baseline
has neither. Of a source that rules changed since, the step is still there.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

STEP = re.compile(r"^// step (\d+): ", re.MULTILINE)
ENTRY = re.compile(r'extern "C" __global__ void[^{]*?(\w+)\(([^()]*)\) \{')
LAUNCH = re.compile(r"^// launch: (.*)$", re.MULTILINE)


def main() -> None:
    """Print the answer to the question on stdin."""
    question = json.load(sys.stdin)
    steps = sorted(Path(sys.argv[1]).glob("*.cu"))
    at = STEP.search(question["source"])
    reached = int(at.group(1)) if at else 0
    answer = [_candidate(question, step) for step in steps[reached : reached + 1]]
    print(json.dumps({"candidates": answer}))


def _candidate(question: dict[str, Any], step: Path) -> dict[str, Any]:
    source = step.read_text(encoding="utf-8")
    launch = LAUNCH.search(source)
    entry = ENTRY.search(source)
    if launch is None or entry is None:
        raise SystemExit(f"{step}: no kernel, or without its launch")
    arguments = [each.split()[-1].lstrip("*") for each in entry.group(2).split(",")]
    launched = {"launch": entry.group(1), **json.loads(launch.group(1)), "args": arguments}
    head = source.split("\n// launch", 1)[0]
    return {
        "method": step.stem.split("_", 1)[1],
        "detail": " ".join(head.replace("// ", "").split()),
        "source": source,
        "plan": {"steps": [launched]},
    }


if __name__ == "__main__":
    main()
