"""`torch.compile` with Inductor: neighbours that only move memory become one kernel."""

from __future__ import annotations

from typing import Any

from .base import Callee, Step, always, load, torch


def apply(model: Callee, inputs: tuple[Any, ...]) -> Callee:
    """The compiled module; what an earlier step rewrites (`kw_rewrite`) is rewritten first."""
    return compiled_with(model, {})


def compiled_with(model: Callee, options: dict[str, Any]) -> Callee:
    """Compiled by Inductor with these options, fixed to the shapes that it meets."""
    load("torch._dynamo").config.recompile_limit = 64
    rewrite = getattr(model, "kw_rewrite", None)
    if rewrite is None:
        given = {"options": options} if options else {}
        return torch().compile(model, dynamic=False, **given)
    compile_fx = load("torch._inductor.compile_fx").compile_fx

    def backend(graph: Any, examples: list[Any]) -> Any:
        return compile_fx(rewrite(graph), examples, config_patches=options)

    return torch().compile(getattr(model, "kw_inner"), dynamic=False, backend=backend)  # noqa: B009


STEP = Step(
    name="compile",
    title="torch.compile (Inductor)",
    kind="compiler",
    effect="fuses",
    error_class="fp32 rounding",
    apply=apply,
    why_not=always,
    undo="call the module itself; torch._dynamo.reset() frees what was compiled",
)
