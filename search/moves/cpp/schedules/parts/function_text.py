"""How the statements of a schedule become a source: another body under the same signature."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from ......analysis.lift.statements import Scatter, Store, statements_in
from ......runners.c_source.nodes import text_of, top_of
from ......runners.model import Candidate
from ....shared.edits import Edit, edited
from ....shared.lifted.c_expressions import Unwritable
from ...parts.rewrite import INCLUDE
from .c_text import TYPES, Writer
from .loops_text import STEP, Form, Loops
from .nests import body_of
from .plain import WRITTEN, Plain


def candidate(
    plain: Plain, method: str, forms: Sequence[Form], *, team: bool, prior: float, needs: str = ""
) -> Candidate:
    """The function written anew by these forms of nests. `needs`: what must have been done for it
    to be worth proposing. Raises Unwritable."""
    names = plain.names()
    structs = {e.name: names.fresh(f"{e.name}_structs") for e in plain.function.parameters
               if e.element is not None and e.element.lanes > 1}  # fmt: skip
    called = dict[str, str]()
    dtypes = {a.name: a.dtype for a in plain.lifted.arguments if a.array}
    writer = Writer(called, dtypes, loops=called, fresh=names.fresh)
    loops = Loops(writer, names, plain.openmp, forms=forms)
    lines = list(loops.lines(body_of(plain.lifted), STEP, team=team))
    if needs and not any(needs in each for each in loops.told):
        raise Unwritable(f"nothing in it takes {needs}")
    if not loops.told and not any("#pragma" in line for line in lines):
        raise Unwritable("no loop of it takes vectors, tiles or a team of threads here")
    told = "; ".join(loops.told) or "loops in the order of memory"
    return Candidate(
        method=method,
        detail=f"written from what it computes: {told}",
        source=_source(plain, writer, [*_numbers(plain, structs), *lines], told, structs),
        prior=prior,
    )


def _numbers(plain: Plain, structs: Mapping[str, str]) -> list[str]:
    """Arrays of structs as those of their numbers, which is what is read of them."""
    lines = list[str]()
    for each in plain.function.parameters:
        if each.name in structs and each.element is not None:
            kind = f"{'const ' * each.const}{TYPES[each.element.dtype]}*"
            cast = f"reinterpret_cast<{kind}>({structs[each.name]})"
            lines.append(f"{STEP}{kind} __restrict__ {each.name} = {cast};")
    return lines


def _source(
    plain: Plain, writer: Writer, lines: list[str], told: str, structs: Mapping[str, str]
) -> str:
    function = plain.function
    constants = [f"{STEP}constexpr long {n} = {v};" for n, v in writer.constants.values()]
    body = "\n".join(["{", *constants, *lines, "}"])
    top = top_of(function.node)
    edits = [
        *_included(plain, writer),
        Edit(top.start_byte, top.start_byte, _comment(told)),
        *_apart(plain, structs),
        Edit(function.body.start_byte, function.body.end_byte, body),
    ]
    return edited(plain.source, edits)


def _comment(told: str) -> str:
    return textwrap.fill(f"{WRITTEN}{told}", 98, subsequent_indent="// ") + "\n"


def _included(plain: Plain, writer: Writer) -> list[Edit]:
    """Headers that are missing, behind those that are there."""
    source = plain.source.decode()
    there = {match[1]: match for match in INCLUDE.finditer(source)}
    missing = "\n".join(f"#include {each}" for each in sorted(writer.headers - there.keys()))
    if not missing:
        return []
    if not there:
        return [Edit(0, 0, f"{missing}\n\n")]
    last = max(match.end() for match in there.values())
    at = len(source[:last].encode())
    return [Edit(at, at, f"\n{missing}")]


def _apart(plain: Plain, structs: Mapping[str, str]) -> list[Edit]:
    """Pointers that no others overlap say so; those to structs leave their names to the numbers.
    Raises Unwritable for structs in brackets."""
    found = list[Edit]()
    written = {s.array for s in statements_in(plain.lifted.body) if isinstance(s, Store | Scatter)}
    for each in plain.function.parameters:
        if each.name in structs:
            declarator = each.node.child_by_field_name("declarator")
            if declarator is None or declarator.type != "pointer_declarator":
                raise Unwritable(f"`{each.name}` is an array of structs in brackets")
            end = declarator.end_byte
            found.append(Edit(end - len(each.name.encode()), end, structs[each.name]))
            continue
        if not each.pointers or "restrict" in text_of(each.node) or each.extent is not None:
            continue
        declarator = each.node.child_by_field_name("declarator")
        if declarator is not None and declarator.type == "pointer_declarator" and written:
            at = declarator.end_byte - len(each.name.encode())
            found.append(Edit(at, at, "__restrict__ "))
    return found
