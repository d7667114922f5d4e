"""What connects regions: data, control, synchronisation, asynchronous work."""

from __future__ import annotations

from bisect import bisect_right
from typing import Literal, NamedTuple

from .code import MAX_DEFINITIONS, Code
from .forming import Formed

Kind = Literal["data", "control", "sync", "async"]


class Edge(NamedTuple):
    """One region must come before another."""

    source: int
    """index of a region"""
    target: int
    kind: Kind
    carried: bool
    """from one iteration of a loop to the next"""
    what: str
    """registers of a data edge by number, the branch, barrier or wait of the others"""


def edges_of(code: Code, formed: Formed) -> tuple[Edge, ...]:
    """All edges, by source and target."""
    found = [*_data(code, formed), *_control(code, formed)]
    found += [*_sync(formed, code), *_async(code, formed)]
    return tuple(sorted(set(found)))


def _data(code: Code, formed: Formed) -> list[Edge]:
    """From the regions that write a register to those that read it. Of several definitions in
    other blocks each may be the one that is read, if control can come from there in the order of
    the text or round a common loop (`_nearest` of very many)."""
    counts = dict[tuple[int, int, bool], int]()
    run_of = formed.run_of
    for number, block in enumerate(code.blocks):
        here = dict[str, int]()
        for index in range(block.first, block.last):
            run = run_of[index]
            for register in code.read[index]:
                if register in here:
                    source = here[register]
                    if source != run:
                        counts[source, run, False] = counts.get((source, run, False), 0) + 1
                    continue
                for definition in _nearest(code.definitions.get(register, []), index):
                    source = run_of[definition]
                    carried = definition >= index
                    if source == run or (
                        carried and not _common_loop(code, formed.runs[source].block, number)
                    ):
                        continue
                    key = (source, run, carried)
                    counts[key] = counts.get(key, 0) + 1
            if not code.function.instructions[index].guard:
                for register in code.written[index]:
                    here[register] = run
    return [Edge(s, t, "data", carried, str(n)) for (s, t, carried), n in counts.items()]


def _nearest(definitions: list[int], index: int) -> list[int]:
    """The definitions that an instruction may read; of very many, the last before it in the text
    and the last of all, which come round a loop."""
    if len(definitions) <= MAX_DEFINITIONS:
        return definitions
    at, half = bisect_right(definitions, index), MAX_DEFINITIONS // 2
    return [*definitions[max(at - half, 0) : at], *definitions[max(at, len(definitions) - half) :]]


def _common_loop(code: Code, one: int, other: int) -> bool:
    around = {*code.loops_around(one)}
    return any(loop in around for loop in code.loops_around(other))


def _control(code: Code, formed: Formed) -> list[Edge]:
    """From the region of a conditional branch to the first of each block that it leads to."""
    found = list[Edge]()
    for number, block in enumerate(code.blocks):
        end = code.function.instructions[block.last - 1]
        if len(block.successors) < 2:
            continue
        source = formed.run_of[block.last - 1]
        for successor in block.successors:
            target = formed.run_of[code.blocks[successor].first]
            if target != source:
                found.append(Edge(source, target, "control", successor <= number, end.stem))
    return found


def _sync(formed: Formed, code: Code) -> list[Edge]:
    """Before and after a strong synchronisation: what stands beside it in the text."""
    found = list[Edge]()
    for index, does in enumerate(code.effects):
        if not does.row.waits:
            continue
        run, waits = formed.run_of[index], does.row.waits
        if run > 0:
            found.append(Edge(run - 1, run, "sync", False, waits))
        if run + 1 < len(formed.runs):
            found.append(Edge(run, run + 1, "sync", False, waits))
    return found


def _async(code: Code, formed: Formed) -> list[Edge]:
    """From what starts asynchronous work to the wait for it: the next one of its kind in the text,
    and the first of its kind in the same loop, which the next iterations reach."""
    waits = dict[str, list[int]]()
    first = dict[tuple[str, int | None], int]()
    for index, does in enumerate(code.effects):
        if does.row.waits:
            waits.setdefault(does.row.waits, []).append(index)
            first.setdefault((does.row.waits, code.loop_of[code.block_at(index)]), index)
    found = list[Edge]()
    for index, does in enumerate(code.effects):
        kind = does.row.starts
        if not kind or kind not in waits:
            continue
        source, loop = formed.run_of[index], code.loop_of[code.block_at(index)]
        following = bisect_right(waits[kind], index)
        if following < len(waits[kind]):
            target = formed.run_of[waits[kind][following]]
            found.append(Edge(source, target, "async", False, kind))
        again = first.get((kind, loop), index)
        if loop is not None and again < index:
            found.append(Edge(source, formed.run_of[again], "async", True, kind))
    return found
