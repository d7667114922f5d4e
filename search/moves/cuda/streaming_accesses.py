"""Cache hints for arrays of which each element is loaded or stored once: `__ldcs`, `__stcs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ....runners.c_source.expressions import operator_of
from ....runners.c_source.nodes import walk
from ....runners.model import Candidate
from ..shared.affine import Form
from ..shared.affine_cpp import form_of
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited, replace_node
from .parts.accesses import Access, accesses_of
from .parts.expressions import Locals, built_ins
from .parts.reading import CudaKernel, read_kernels

if TYPE_CHECKING:
    from tree_sitter import Node

HINTED = frozenset(
    "float float2 float4 double double2 int int2 int4 unsigned uint uint2 uint4 char char2 char4 "
    "uchar2 uchar4 short short2 short4 ushort2 ushort4 __half half __half2 half2 __nv_bfloat16 "
    "__nv_bfloat162".split()
) | {"unsigned int", "unsigned char", "unsigned short", "signed char", "long long"}
"""types for which CUDA has these functions"""
FAMILY = (
    # load, store, prior
    ("__ldcs", "__stcs", 0.2),
    ("", "__stcs", 0.15),
    ("__ldcg", "", 0.05),
)


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    unique = {k.function.name: k for k in kernels}
    loads: list[Access] = []
    stores: list[Access] = []
    for kernel in unique.values():
        own = accesses_of(kernel, Locals(kernel.body))
        loads += _once(kernel, own, "read")
        stores += [a for a in _once(kernel, own, "write") if _is_statement(a.node)]
    if not loads and not stores:
        return NotApplicable(
            "no array is only read, or only written, at one place that every thread has for itself"
        )
    found: list[Candidate] = []
    for load, store, prior in FAMILY:
        written = stores if store else []
        read = _apart(loads, written) if load else []
        if (load and not read) or (not read and not written):
            continue
        edits = [_loaded(a, load) for a in read]
        edits += [edit for a in written for edit in _stored(a, store)]
        named = [f"{load} of {_names(read)}"] if read else []
        named += [f"{store} of {_names(written)}"] if written else []
        found.append(
            Candidate(
                method=MOVE.method,
                detail=", ".join(named),
                source=edited(kernels[0].text, edits),
                prior=prior,
            )
        )
    return tuple(found)


def _once(kernel: CudaKernel, accesses: Sequence[Access], mode: str) -> list[Access]:
    """Accesses of one mode to arrays with no other, the widest of each array where it is alone."""
    found: list[Access] = []
    for name in kernel.pointers:
        own = [a for a in accesses if a.pointer.name == name]
        if not own or any(a.mode != mode for a in own):
            continue
        widest = [a for a in own if a.nbytes == max(b.nbytes for b in own)]
        if len(widest) > 1 and not _either_or(widest):
            continue
        found += [a for a in widest if a.type in HINTED and _is_own(a.node, kernel)]
    return found


def _is_own(node: Node, kernel: CudaKernel) -> bool:
    """Whether no two threads share the address: it depends on the thread along every axis of the
    launch, and neither a remainder nor a quotient of that; and neighbours are side by side."""
    if any(operator_of(n) in ("%", "/", ">>", "&") for n in walk(node)):
        return False
    # variables of loops count for what they start at: a grid-stride loop's is the thread's own
    known, launch = Locals(kernel.body), kernel.launch
    used = built_ins(node, known.starts)
    blocks = {f"blockIdx.{a}" for a, n in zip("xyz", launch.grid, strict=True) if n != 1}
    threads = {f"threadIdx.{a}" for a, n in zip("xyz", launch.block, strict=True) if n != 1}
    return bool(blocks | threads) and blocks | threads <= used and not _strided(node, known)


def _strided(node: Node, known: Locals) -> bool:
    """Whether neighbouring threads are surely far apart: each then wants its own line to stay."""
    listed = node.child_by_field_name("indices")

    def resolve(name: str) -> Form | None:
        value = known.values.get(name)
        return Form.name(name) if value is None else form_of(value, resolve)

    form = form_of(listed.named_children[0], resolve) if listed is not None else None
    thread = form.coefficient("threadIdx.x") if form is not None else None
    return thread is not None and thread not in (Form(), Form.number(1))


def _either_or(accesses: Sequence[Access]) -> bool:
    """Whether all stand in different branches of `if`."""
    for number, one in enumerate(accesses):
        for other in accesses[number + 1 :]:
            above: Node | None = one.node
            while above is not None and not (
                above.start_byte <= other.node.start_byte and other.node.end_byte <= above.end_byte
            ):
                above = above.parent
            if above is None or above.type != "if_statement":
                return False
    return True


def _apart(loads: Sequence[Access], stores: Sequence[Access]) -> list[Access]:
    """Loads that stand in no index of the others: `x[t[i]]` is one load of `x`, its index stays."""
    outer = (*(a.node for a in loads), *(a.node for a in stores))
    return [a for a in loads if not any(_is_inside(a.node, other) for other in outer)]


def _is_inside(node: Node, other: Node) -> bool:
    wider = other.end_byte - other.start_byte > node.end_byte - node.start_byte
    return wider and other.start_byte <= node.start_byte and node.end_byte <= other.end_byte


def _is_statement(node: Node) -> bool:
    above = node.parent.parent if node.parent is not None else None
    return above is not None and above.type == "expression_statement"


def _names(accesses: Sequence[Access]) -> str:
    return ", ".join(dict.fromkeys(a.pointer.name for a in accesses))


def _loaded(access: Access, function: str) -> Edit:
    return replace_node(access.node, f"{function}({access.address})")


def _stored(access: Access, function: str) -> tuple[Edit, Edit]:
    """Around the value, which may hold loads that change as well."""
    statement = access.node.parent
    value = statement.child_by_field_name("right") if statement is not None else None
    assert statement is not None and value is not None
    head = Edit(statement.start_byte, value.start_byte, f"{function}({access.address}, ")
    return head, Edit(value.end_byte, value.end_byte, ")")


MOVE = Move(
    id="streaming_accesses",
    method="cache_policy_cg",
    languages=("cuda",),
    why="Marks loads and stores of arrays that are touched once as streaming (`__ldcs`, `__stcs`: "
    "first to be evicted), or keeps such loads out of L1 (`__ldcg`). Pays where streamed data "
    "drives out what others read again, and where output is not read soon.",
    write=_write,
)
