"""Products in fewer bits: only with the user's consent."""

from __future__ import annotations

from collections.abc import Iterable

from .base import Finder, Found, Opportunity, of_rung, places


def tf32(found: Found) -> Iterable[Opportunity]:
    """Products of float32 in TF32, each as measured at its own shape."""
    ops = [op for op in found.ops if op.flops and op.dtype == "float32"]
    if not ops or not found.on_gpu:
        return
    yield of_rung(
        found,
        found.cost.predict(["tf32"]),
        kind="precision",
        what=f"{len(ops)} products in float32 take {sum(op.us for op in ops):.4g} us without "
        "tensor cores",
        how="torch.backends.cuda.matmul.allow_tf32 = True: ten bits of mantissa in, float32 out",
        error_class="TF32",
        steps=("tf32",),
        where=places(ops),
        consent="tf32",
    )


def bf16(found: Found) -> Iterable[Opportunity]:
    """Everything in bfloat16."""
    ops = [op for op in found.ops if op.dtype == "float32"]
    if not ops:
        return
    yield of_rung(
        found,
        found.cost.predict(["bf16"]),
        kind="precision",
        what=f"{len(ops)} operators in float32 move {sum(op.bytes for op in ops) / 1e6:.4g} MB",
        how="weights and activations in bfloat16 (model.to(torch.bfloat16)), half of the bytes",
        error_class="bf16",
        steps=("bf16",),
        consent="bf16",
    )
    if found.on_gpu:
        yield of_rung(
            found,
            found.cost.predict(["bf16", "fuses", "captures"]),
            kind="precision",
            what="the same, compiled and captured: what remains are products in bfloat16 and one "
            "kernel for each chain",
            how="bfloat16, torch.compile and a CUDA graph",
            error_class="bf16",
            steps=("bf16", "compile", "graphs"),
            consent="bf16",
        )


FINDERS: tuple[Finder, ...] = (tf32, bf16)
