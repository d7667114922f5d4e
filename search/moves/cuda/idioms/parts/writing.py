"""How an idiom writes what it has found: edits of the source, and the plan of the new kernel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from ....shared.edits import Edit, edited
from .facts import Facts

TEMPLATES = Path(__file__).parent / "templates"
BOUNDS = re.compile(rb"__launch_bounds__\s*\((?:[^()]|\([^()]*\))*\)")

WORD = re.compile(r"[A-Za-z_]\w*")
FILLED = re.compile(r"\$\w+|\$\{\w+\}")
COMMENT = re.compile(r"//[^\n]*")
MACRO = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
FROM_PARAMETERS = re.compile(r"(\w+) = \$")


def bounded(facts: Facts, threads: int | str, *, add: bool = False) -> list[Edit]:
    """`__launch_bounds__` of the kernel for blocks of so many threads, where it has some; those of
    another block would refuse the launch. `add`: also where it has none, as 1024 threads may ask
    for too many registers."""
    start, end = facts.kernel.definition[0], facts.kernel.signature[0]
    head = facts.source[start:end]
    found = BOUNDS.search(head)
    text = f"__launch_bounds__({threads})"
    if found is not None:
        return [Edit(start + found.start(), start + found.end(), text)]
    if not add or b"void" not in head:
        return []
    at = start + head.index(b"void") + len(b"void")
    return [Edit(at, at, f" {text}")]


def signature(
    facts: Facts, changed: Mapping[str, str] | None = None, more: Sequence[str] = ()
) -> str:
    """The parameter list with the names as they are; no two arrays overlap (`__restrict__`).

    `changed`: declarations in place of those of some parameters; `more`: further ones.
    """
    declared = list[str]()
    for p in facts.kernel.function.parameters:
        if changed and p.name in changed:
            declared.append(changed[p.name])
        elif p.pointers:
            const = "const " if p.const or facts.arrays[p.name].role == "input" else ""
            declared.append(f"{const}{p.type}* __restrict__ {p.name}")
        else:
            declared.append(f"{p.type} {p.name}")
    return f"({', '.join([*declared, *more])})"


def rewritten(
    facts: Facts,
    body: str,
    threads: str,
    prelude: str = "",
    changed: Mapping[str, str] | None = None,
    more: Sequence[str] = (),
) -> str:
    """The source with another kernel under the same name; what stands around it stays.

    The body is a block within the kernel's, where its names may hide parameters. `threads`: of
    `__launch_bounds__`; `prelude`: declarations that stand before the kernel.
    """
    kernel = facts.kernel
    listed = signature(facts, changed, more)
    head = f"__global__ void __launch_bounds__({threads}) {kernel.name}{listed}"
    edits = [Edit(*kernel.definition, f"{head} {{\n{{\n{body.strip(chr(10))}\n}}\n}}")]
    if prelude:
        edits.append(Edit(kernel.whole[0], kernel.whole[0], prelude.strip("\n") + "\n\n"))
    return edited(facts.source, edits)


def launched(
    facts: Facts,
    grid: Sequence[int | str],
    block: Sequence[int | str],
    *,
    shared: int | str = 0,
    args: Sequence[Any] | None = None,
    defines: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The plan with another launch in place of its one; its other steps stay.

    `defines`: macros of the source and names of the plan. `args` None: the arguments as before.
    """
    plan = facts.plan.model_dump(mode="json", exclude_unset=True, by_alias=True)
    number = next(n for n, s in enumerate(plan["steps"]) if "launch" in s)
    old = plan["steps"][number]
    step: dict[str, Any] = {"launch": facts.step.launch, "grid": list(grid), "block": list(block)}
    if shared:
        step["shared"] = shared
    given = old.get("args") if args is None else list(args)
    if given is not None:
        step["args"] = given
    plan["steps"][number] = step
    if defines:
        plan["defines"] = {**plan.get("defines", {}), **defines}
    return plan


@cache
def template(name: str) -> Template:
    """A CUDA text of the folder `templates`, with `$NAME` where something is filled in."""
    return Template((TEMPLATES / name).read_text(encoding="utf-8"))


def clash(facts: Facts, name: str) -> str | None:
    """Why a template cannot stand in this source: a macro of the source has one of its words, or a
    parameter the name of a constant that is made from parameters. None: nothing is in the way."""
    text = template(name).template
    words = {*WORD.findall(FILLED.sub(" ", COMMENT.sub(" ", text)))}
    macros = {m.decode() for m in MACRO.findall(facts.source)}
    parameters = {p.name for p in facts.kernel.function.parameters}
    taken = sorted(words & macros) or sorted({*FROM_PARAMETERS.findall(text)} & parameters)
    return f"the new kernel has another `{taken[0]}` than this one" if taken else None
