"""Tiles that are on their way while others are computed with: copies that nobody waits for, into
two or three buffers of shared memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from math import prod

from ....runners.c_source.nodes import text_of, walk
from ....runners.c_source.preprocessor import pragma_above
from ....runners.c_source.types import element_type
from ....runners.errors import ExpressionError
from ....runners.model import Candidate
from ....runners.specs.expressions import evaluate
from ..shared.base import Move, NotApplicable, Proposals, State
from ..shared.edits import Edit, edited, insert_after, replace_node
from .parts.constants import known_numbers
from .parts.dependence import Flow
from .parts.free_names import free_names
from .parts.reading import CudaKernel, of_each, read_kernels
from .parts.staged_copies import Copy, base_name, copies_in
from .parts.staging import NotStaged, SharedArray, StagedLoop, shared_arrays, staged_loop

STAGES = ((2, 0.3), (3, 0.15))
"""buffers, prior"""
SHARED = 48 * 1024
"""bytes of static shared memory of a block, every GPU so far"""
ASYNCHRONOUS = re.compile(r"__pipeline_|cp\.async|memcpy_async|cuda::pipeline")


def _write(state: State) -> Proposals:
    kernels = read_kernels(state)
    if isinstance(kernels, NotApplicable):
        return kernels
    if ASYNCHRONOUS.search(state.source):
        return NotApplicable("the source copies without waiting already")
    unique = {k.function.name: k for k in kernels}
    one = len(unique) == 1
    return of_each(unique.values(), lambda kernel: _of_kernel(kernel, state, one=one))


def _of_kernel(kernel: CudaKernel, state: State, *, one: bool) -> list[Candidate] | NotApplicable:
    if not shared_arrays(kernel):
        return NotApplicable(f"`{kernel.function.name}` has no array of shared memory of one size")
    flow, reasons, found = Flow(kernel), dict[str, None](), list[Candidate]()
    for node in walk(kernel.body):
        if node.type != "for_statement" or "__syncthreads" not in text_of(node):
            continue
        where = f"the loop in line {node.start_point.row + 1}"
        try:
            loop = staged_loop(kernel, node, flow)
            found += _staged(
                kernel, loop, known_numbers(state, kernel), "" if one else f"{where}, "
            )
        except NotStaged as error:
            reasons[f"{where}: {error}"] = None
    if found:
        return found
    return NotApplicable("; ".join(reasons) or "no loop stages tiles between barriers")


def _staged(
    kernel: CudaKernel, loop: StagedLoop, known: Mapping[str, int], where: str
) -> Iterator[Candidate]:
    tiles = {tile.name for tile in loop.tiles}
    copies = copies_in(kernel, loop.staging, tiles)
    if not copies:
        raise NotStaged(
            "no element goes straight from an array to a tile as 4, 8 or 16 bytes: what is "
            "computed with, or converted, on its way passes through a thread's registers"
        )
    sizes = {name: _nbytes(array, known) for name, array in shared_arrays(kernel).items()}
    for copy in copies:
        size = sizes[base_name(copy.target)]
        if copy.wide and (size is None or size % copy.nbytes):
            raise NotStaged(
                f"`{text_of(copy.target)}` is stored {copy.nbytes} bytes at a time, to which a "
                "second buffer behind the first may not be aligned"
            )
    total, once = sum(s or 0 for s in sizes.values()), sum(sizes[t] or 0 for t in tiles)
    fitting = [each for each in STAGES if total + (each[0] - 1) * once <= SHARED]
    if not fitting:
        raise NotStaged(f"two buffers of its tiles are more than {SHARED} bytes of shared memory")
    names = ", ".join(tile.name for tile in loop.tiles)
    for stages, prior in fitting:
        yield Candidate(
            method=MOVE.method,
            detail=f"{where}{names}: {stages} buffers, copied ahead",
            source=edited(kernel.text, _edits(kernel, loop, copies, stages)),
            prior=prior,
        )


def _nbytes(array: SharedArray, known: Mapping[str, int]) -> int | None:
    """Bytes of an array; None: its sizes are not plain to see."""
    element = element_type(array.type)
    if element is None:
        return None
    try:
        counts = [int(evaluate(text_of(size), known)) for size in array.sizes]
    except (ExpressionError, ValueError, TypeError):
        return None
    return element.nbytes * prod(counts)


def _edits(kernel: CudaKernel, loop: StagedLoop, copies: list[Copy], stages: int) -> Iterator[Edit]:
    """The tiles as so many buffers; a lambda that sends one iteration's copies off; iterations that
    send later ones' off, wait for their own, and compute."""
    tiles = [tile.name for tile in loop.tiles]
    buffers, stage, ahead, fetch, slot = _names(kernel, loop)
    for tile, name in zip(loop.tiles, buffers, strict=True):
        yield replace_node(tile.node, f"{name}[{stages}]")
    counter, text = loop.loop, kernel.text
    above = pragma_above(counter.node) or counter.node
    start, end = loop.staging[0].start_byte, loop.barrier.start_byte
    copied = edited(text, (replace_node(c.statement, c.text) for c in copies), start, end)
    test = text_of(counter.node.child_by_field_name("condition"))
    step = text_of(counter.step) if counter.step is not None else "1"
    lines = [
        f"// tiles of {stages} iterations: one is computed with, the others are on their way",
        f"{counter.kind} {ahead} = {text_of(counter.start)};",
        f"auto {fetch} = [&](int {slot}) {{",
        *(f"    auto& {t} = {b}[{slot}];" for t, b in zip(tiles, buffers, strict=True)),
        f"    const auto {counter.variable} = {ahead};",
        f"    if ({test}) {{",
        f"        {copied.rstrip()}",
        *(f"        {edited(text, (), s.start_byte, s.end_byte)}" for s in loop.steps),
        "    }",
        "    __pipeline_commit();  // a group an iteration, also where there is nothing left",
        f"    {ahead} += {step};",
        "};",
        *(["__syncthreads();"] if loop.leading else []),
        f"for (int {slot} = 0; {slot} < {stages - 1}; ++{slot}) {fetch}({slot});",
        f"int {stage} = 0;",
    ]
    yield Edit(above.start_byte, above.start_byte, "\n    ".join(lines) + "\n    ")
    inner = [
        f"{fetch}(({stage} + {stages - 1}) % {stages});",
        f"__pipeline_wait_prior({stages - 1});",
        "__syncthreads();",
        *(f"auto& {t} = {b}[{stage}];" for t, b in zip(tiles, buffers, strict=True)),
        *(text_of(d) for d in loop.shared),
    ]
    yield Edit(start, loop.barrier.end_byte, "\n        ".join(inner))
    for moved in loop.steps:
        yield replace_node(moved, "")
    last = loop.loop.body.named_children[-1]
    yield insert_after(last, f"\n        {stage} = ({stage} + 1) % {stages};")
    if "cuda_pipeline.h" not in text.decode("utf-8", "replace"):
        yield Edit(0, 0, "#include <cuda_pipeline.h>\n")


def _names(kernel: CudaKernel, loop: StagedLoop) -> tuple[list[str], str, str, str, str]:
    wanted = [f"{tile.name}_buffers" for tile in loop.tiles]
    found = free_names(kernel, *wanted, "stage", f"{loop.loop.variable}_ahead", "fetch", "buffer")
    stage, ahead, fetch, slot = found[len(wanted) :]
    return list(found[: len(wanted)]), stage, ahead, fetch, slot


MOVE = Move(
    id="async_copies",
    method="enable_async_pipeline",
    languages=("cuda",),
    why="Where a loop copies tiles into shared memory, waits, and computes with them, copies of "
    "the next iterations are under way meanwhile (`cp.async`; compute capability 8.0 and later, "
    "older ones copy at once), in two or three buffers. Pays where threads wait for the tiles; "
    "costs shared memory.",
    write=_write,
)
