"""What a contract says that rules need beside a profile."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ...runners.limits.gpu_limits import compute_unit
from ...runners.limits.limits import work
from ...runners.specs.io_contract import Argument, Contract
from .model import Facts

TENSOR_UNITS = frozenset({"fp16", "tf32"})
"""of `compute_unit`: what tensor cores may do"""
SYMBOL = re.compile(r"[A-Za-z_]\w*")


def facts_of(contract: Contract, symbols: Mapping[str, int]) -> Facts:
    """The facts of one workload. Raises ExpressionError, SpecError (`limits.work`)."""
    return Facts(work=work(contract, symbols), matrix_work=matrix_work(contract))


def matrix_work(contract: Contract) -> bool | None:
    """Whether it multiplies matrices in types that tensor cores take.

    It does, as in Einstein's notation, when two inputs share a symbol that no output has, and each
    has one that an output has and the other input has not: A[M, K], B[K, N], C[M, N]. False where
    the contract's types and math keep tensor cores out; None: the shapes do not say.
    """
    unit = compute_unit(contract)
    if unit not in TENSOR_UNITS:
        return False if unit == "fp32" else None
    inputs = [_symbols(a) for a in contract.arguments if a.role in ("input", "inout")]
    outputs = [_symbols(a) for a in contract.arguments if a.role in ("output", "inout")]
    kept = frozenset[str]().union(*outputs)
    pairs = ((a, b) for i, a in enumerate(inputs) for b in inputs[i + 1 :])
    return True if any((a & b) - kept and a & kept - b and b & kept - a for a, b in pairs) else None


def _symbols(argument: Argument) -> frozenset[str]:
    return frozenset(s for extent in argument.shape for s in SYMBOL.findall(str(extent)))
