"""The examples of the pages on PyTorch (`skills/torch-*`): both forms of each, measured in turns.

Usage: python benchmarks/torch_skills.py [--device cpu|cuda] [--only PAGE]
       python benchmarks/torch_skills.py --pages     # writes what was measured into the pages
Adds what this device measures to benchmarks/results/torch_skills.json and writes the pages. An
example is a `python` block of a page that begins with `# example: NAME; on: DEVICES; class:
CLASS`, and defines `inputs(device)`, `before(...)` and `after(...)` over these inputs.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from environment import RESULTS, environment

from kernelwright.analysis.modules.rungs import MOST_RMS, RESOLUTION, WIDEST
from kernelwright.runners.comparing.timing import WorkloadBlocks, estimate, judgement, ratio
from kernelwright.runners.modules.common.clock import Clock
from kernelwright.runners.modules.common.messages import ERROR_CLASSES, ErrorClass
from kernelwright.runners.modules.ladder.agreement import agreement, kept
from kernelwright.skills.catalogue import Skill, catalogue

RESULT = RESULTS / "torch_skills.json"
BLOCKS, SAMPLE_S = 12, 0.04
SEED = 42
START = "<!-- written by `python benchmarks/torch_skills.py`, do not edit -->"
END = "<!-- end of what was measured -->"
_BLOCK = re.compile(r"^```python\n(# example: .*?)^```$", re.DOTALL | re.MULTILINE)
_HEAD = re.compile(r"# example: (?P<name>[^;]+); on: (?P<on>[a-z, ]+); class: (?P<kind>.+)")


@dataclass(frozen=True)
class Forms:
    """One example of a page: the same values, computed in two ways."""

    page: str
    name: str
    on: tuple[str, ...]
    """devices on which it shows something"""
    error_class: ErrorClass
    text: str

    def made(self) -> Mapping[str, Any]:
        """What its text defines."""
        space: dict[str, Any] = {"__name__": self.page}
        exec(compile(self.text, f"{self.page}/SKILL.md", "exec"), space)
        return space


def forms_of(skill: Skill) -> Iterator[Forms]:
    """The examples of a page. Raises ValueError for a first line of another form."""
    for found in _BLOCK.finditer(skill.text()):
        text = found[1]
        head = _HEAD.fullmatch(text.partition("\n")[0])
        said = head["kind"] if head else ""
        kind: ErrorClass | None = next((each for each in ERROR_CLASSES if each == said), None)
        if head is None or kind is None:
            raise ValueError(f"{skill.path}: {text.splitlines()[0]!r} names no devices or class")
        on = tuple(part.strip() for part in head["on"].split(","))
        yield Forms(skill.id, head["name"], on, kind, text)


def every_form() -> list[Forms]:
    """Of all pages."""
    return [each for skill in catalogue() if skill.of_modules for each in forms_of(skill)]


def measured(forms: Forms, device: str) -> dict[str, Any]:
    """Both forms timed in turns (A B B A), and how far their outputs lie apart.

    Raises ValueError where the outputs differ more than the class of the example explains.
    """
    space = forms.made()
    torch.random.manual_seed(SEED)  # pyright: ignore[reportUnknownMemberType]
    given = space["inputs"](device)
    calls = {side: _bound(space[side], given) for side in ("before", "after")}
    with torch.no_grad():
        rms = distance(forms, calls["after"](), calls["before"]())
        clock = Clock(device)
        blocks = _blocks(clock, calls)
    found = estimate([WorkloadBlocks("call", 1.0, blocks)], "after", "before")
    told = ratio(found, "before", judgement(found, RESOLUTION, WIDEST))
    return {
        "page": forms.page,
        "example": forms.name,
        "class": forms.error_class,
        **{f"{side}_ms": sorted(each)[len(each) // 2] for side, each in blocks.items()},
        "speedup": told.speedup,
        "low": told.low,
        "high": told.high,
        "judgement": told.judgement,
        "rms": rms,
    }


def distance(forms: Forms, after: Any, before: Any) -> float:
    """The relative difference of the outputs. Raises ValueError where it is above the class."""
    first, second = kept(before), kept(after)
    rms = agreement(second, first, first).rms
    if rms > MOST_RMS[forms.error_class]:
        raise ValueError(f"{forms.page}, {forms.name}: {rms:.1e} apart, not {forms.error_class}")
    return rms


def _bound(form: Callable[..., Any], given: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: form(*given)


def _blocks(clock: Clock, calls: Mapping[str, Callable[[], Any]]) -> dict[str, tuple[float, ...]]:
    counts = dict[str, int]()
    for side, call in calls.items():
        clock.sample_ms(call, 2)
        counts[side] = max(1, int(SAMPLE_S * 1e3 / max(clock.sample_ms(call, 1), 1e-4)))
    blocks = {side: list[float]() for side in calls}
    for number in range(BLOCKS):
        order = list(calls)[:: 1 if number % 2 == 0 else -1]
        for side in order:
            blocks[side].append(round(clock.sample_ms(calls[side], counts[side]), 6))
    return {side: tuple(each) for side, each in blocks.items()}


def section(forms: Forms, result: Mapping[str, Any]) -> str:
    """What a page says of one of its examples: measured on which machine, or owed."""
    lines = list[str]()
    for device in forms.on:
        ran = result.get(device, {"rows": []})
        row = next((r for r in ran["rows"] if _is(r, forms)), None)
        where = "a CPU" if device == "cpu" else "a GPU"
        if row is None:
            lines.append(f"- {forms.name}: owed on {where}, not measured there yet.")
            continue
        place = ran["environment"]
        where = place.get("gpu") or f"one thread of {place['cpu']}"
        lines.append(
            f"- {forms.name}: {row['before_ms']:.3g} ms before, {row['after_ms']:.3g} ms after, "
            f"{row['speedup']:.3g}x ({row['low']:.3g} to {row['high']:.3g}, {row['judgement']}) on "
            f"{where}, torch {ran['torch']}; outputs {row['rms']:.1e} apart."
        )
    return "\n".join(lines)


def filled(skill: Skill, result: Mapping[str, Any]) -> str:
    """The text of a page with what was measured between its two marks."""
    before, _, rest = skill.text().partition(START)
    _, _, after = rest.partition(END)
    told = "\n".join(section(each, result) for each in forms_of(skill))
    return f"{before}{START}\n{told}\n{END}{after}"


def _is(row: Mapping[str, Any], forms: Forms) -> bool:
    return (row["page"], row["example"]) == (forms.page, forms.name)


def _stored() -> dict[str, Any]:
    return json.loads(RESULT.read_text(encoding="utf-8")) if RESULT.exists() else {}


def _measure(device: str, only: list[str] | None) -> dict[str, Any]:
    """What is stored, with the rows of this run in place of those of the same examples."""
    torch.set_num_threads(1)
    chosen = [f for f in every_form() if device in f.on and (only is None or f.page in only)]
    stored = _stored()
    rows = [
        row
        for row in stored.get(device, {"rows": []})["rows"]
        if any(_is(row, f) for f in every_form()) and not any(_is(row, f) for f in chosen)
    ]
    for forms in chosen:
        rows.append(measured(forms, device))
        print(rows[-1], flush=True)
    rows.sort(key=lambda row: (row["page"], row["example"]))
    ran = {"environment": environment(), "torch": torch.__version__, "threads": 1, "rows": rows}
    return {**stored, device: ran}


def main() -> None:
    """Measure on this device, and write the pages."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", choices=("cpu", "cuda"), default=None)
    parser.add_argument("--only", action="append")
    parser.add_argument("--pages", action="store_true", help="measure nothing")
    given = parser.parse_args()
    device = given.device or ("cuda" if torch.cuda.is_available() else "cpu")
    result = _stored() if given.pages else _measure(device, given.only)
    RESULT.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    for skill in catalogue():
        if skill.of_modules:
            skill.path.write_text(filled(skill, result), encoding="utf-8")


if __name__ == "__main__":
    main()
