"""Options of `optimize` that people bring from earlier tools: taken where they mean what happens
anyway, else answered with today's way."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...runners.errors import SpecError

ANYWAY: Mapping[str, str] = {
    "--build-regraph": "every search adds to the ReGraph, which lies in OUTDIR/regraph.json",
    "--regraph-autobuild": "every search adds to the ReGraph, which lies in OUTDIR/regraph.json",
}
"""what happens without being asked for, and how"""
MODELS = ("--llm-model", "--llm")
WORKER = "--worker"


def without_earlier_words(arguments: Sequence[str]) -> list[str]:
    """The arguments of a command line without options of earlier tools that change nothing here;
    each is told on stderr.

    Raises SpecError for one that has another way today, and names it.
    """
    given = list(arguments)
    if given[:1] != ["optimize"]:
        return given
    if given[1:2] and not given[1].startswith("-") and not _names_input(given):
        print(f"{given[1]}: taken as --input {given[1]}", file=sys.stderr)
        given.insert(1, "--input")
    kept = list[str]()
    while given:
        option, equals, value = given.pop(0).partition("=")
        if option in ANYWAY:
            print(f"{option}: {ANYWAY[option]}", file=sys.stderr)
        elif option == WORKER:
            raise _replayed(value or next(iter(given), ""))
        elif option in MODELS:
            if not equals and given and not given[0].startswith("-"):
                value = given.pop(0)
            if "--no-llm" not in arguments:
                raise _model(option, value)
            print(f"{option}: not used, for --no-llm", file=sys.stderr)
        else:
            kept.append(option + equals + value)
    return kept


def _names_input(arguments: Sequence[str]) -> bool:
    return any(each == "--input" or each.startswith("--input=") for each in arguments)


def _model(option: str, name: str) -> SpecError:
    """Not taken for the option of today: that costs money, and wants a budget."""
    return SpecError(
        f"`{option}`: a model proposes where it is asked for as the planner",
        valid=f"--planner anthropic --model {name or 'NAME'} --budget-usd 2; without a planner "
        "rules propose; an MCP client brings a model of its own (kernelwright serve)",
    )


def _replayed(control: str) -> SpecError:
    folder = Path(control or "OUT/kernels/NAME/variants/ID/control.json").parent
    return SpecError(
        f"`{WORKER}`: a variant's folder is built, checked and timed again by a command of its own",
        next_step=f"kernelwright replay {folder}",
    )
