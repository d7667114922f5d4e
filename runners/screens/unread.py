"""Inputs that nothing reads: a kernel that is right without them counts on what they usually hold.

In sources a parameter that its function never names; in machine code a buffer that no launch is
given, or whose parameter no instruction of the PTX names. What is read and thrown away is not seen
here. A finding asks for the gates of the incumbent before anything is timed, where inputs hold
other values (`works_on_other_values`); the baseline's own findings ask for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ..plans.plan import Launch, LaunchPlan, PointerParam, ScalarParam
from ..specs.io_contract import Contract
from .findings import Finding
from .ptx import without_comments

if TYPE_CHECKING:
    from tree_sitter import Node

NEVER_NAMED = "is an input, and the kernel never names it"
NEVER_GIVEN = "is an input, and no launch is given it"
NEVER_LOADED = "is an input, and no instruction names its parameter"


def known_inputs(contract: Contract) -> Iterator[str]:
    """Inputs that have to be read: all but those that the spec calls constant."""
    for argument in contract.arguments:
        if argument.role in ("input", "inout") and not argument.filled.constant:
            yield argument.name


def unread_parameters(
    source: str, entry: str, contract: Contract | None, *, device: bool
) -> list[Finding]:
    """Inputs whose parameter the entry of a C++ or CUDA source never names, but for a cast to void.

    Nothing where its parameters are not those of the contract, one for one.
    """
    from ..c_source.functions import functions_named

    found = functions_named(source, entry, cuda=device)
    if contract is None or not found or len(found[0].parameters) != len(contract.arguments):
        return []
    named, wanted = _named(found[0].body), set(known_inputs(contract))
    return [
        Finding("probe", parameter.node.start_point.row + 1, argument.name, NEVER_NAMED)
        for parameter, argument in zip(found[0].parameters, contract.arguments, strict=True)
        if argument.name in wanted and parameter.name not in named
    ]


def unread_buffers(
    plans: Iterable[LaunchPlan], ptx: Mapping[str, str], contract: Contract | None
) -> list[Finding]:
    """Inputs that no launch of a plan reads. `ptx`: texts by the hash of their machine code."""
    if contract is None:
        return []
    found = dict[str, Finding]()
    for plan in plans:
        in_tables = {p.buffer for buffer in plan.buffers for p in buffer.pointers}
        given, read = set(in_tables), set(in_tables)
        for step in plan.steps:
            for name, reached in _reached(step, plan, ptx):
                given.add(name)
                read |= {name} if reached else set()
        for name in known_inputs(contract):
            if name not in read:
                why = NEVER_LOADED if name in given else NEVER_GIVEN
                found.setdefault(name, Finding("probe", 0, name, why))
    return list(found.values())


def _reached(step: object, plan: LaunchPlan, ptx: Mapping[str, str]) -> Iterator[tuple[str, bool]]:
    """Buffers that a step is given, and whether it names them."""
    if not isinstance(step, Launch):
        name = getattr(step, "buffer", None)
        if name is not None:
            yield name, True
        return
    kernel = next(each for each in plan.kernels if each.id == step.launch)
    body = _body(ptx.get(kernel.sha256, ""), kernel.entry)
    for number, param in enumerate(step.params):
        if isinstance(param, ScalarParam) or param.buffer is None:
            continue
        sure = isinstance(param, PointerParam) and bool(body)
        yield param.buffer, not sure or f"{kernel.entry}_param_{number}" in body


def _body(ptx: str, entry: str) -> frozenset[str]:
    """Names in the body of a kernel; empty where there is no such text, or it is cut off."""
    found = re.search(
        rf"\.entry\s+{re.escape(entry)}\s*\([^)]*\)[^{{]*\{{(.*?)\n\}}",
        without_comments(ptx),
        re.DOTALL,
    )
    return frozenset(re.findall(r"[\w$]+", found[1])) if found else frozenset()


def _named(body: Node) -> set[str]:
    """Identifiers in a body that are more than cast to void."""
    from ..c_source.nodes import text_of, walk

    return {
        text_of(node)
        for node in walk(body)
        if node.type in ("identifier", "preproc_arg") and not _cast_away(node)
    }


def _cast_away(name: Node) -> bool:
    from ..c_source.nodes import text_of

    cast = name.parent
    if cast is None or cast.type != "cast_expression":
        return False
    return text_of(cast.child_by_field_name("type")) == "void"
