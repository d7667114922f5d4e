"""Which rungs a ladder has; pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..steps import STEPS, Step

Rung = tuple[str, ...]
EAGER: Rung = ()


def ordered(names: Collection[str]) -> Rung:
    """The steps of one rung in the order in which they are applied."""
    return tuple(step.name for step in STEPS if step.name in names)


def rungs_of(applying: Sequence[Step], allow: Collection[str], *, slow: bool = False) -> list[Rung]:
    """Eager; every step alone; then all rewrites compiled, captured, and in each precision that
    was consented to. Each rung once, the cheap ones first."""
    steps = [s for s in applying if (not s.consent or s.consent in allow) and (slow or not s.slow)]
    rewrites = {s.name for s in steps if s.kind == "rewrite"}
    runtime = {s.name for s in steps if s.kind == "runtime"}
    compilers = [s.name for s in steps if s.kind == "compiler"]
    precisions = [s.name for s in steps if s.kind == "precision"]
    wanted = [EAGER, *((s.name,) for s in steps if s.alone and s.kind != "compiler")]
    for compiler in compilers:
        wanted += [(compiler,), ordered({compiler, *runtime}), ordered({*rewrites, compiler})]
        wanted.append(ordered({*rewrites, compiler, *runtime}))
        for precision in precisions:
            wanted.append(ordered({precision, *rewrites, compiler}))
            wanted.append(ordered({precision, *rewrites, compiler, *runtime}))
    return list(dict.fromkeys(wanted))
