"""The body of a function: its statements, line by line.

Nearly every line is one instruction, and one expression reads it. Everything else (labels,
directives, nested scopes, several statements on a line, a statement over several lines) goes
through `_statements`, which costs more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...runners.errors import SpecError
from .module import Instruction, Place, Registers, Variable
from .places import Places

_INSTRUCTION = re.compile(
    r"\s*(?:@(!?)\s*([%\w$]+)\s+)?([a-z]\w*(?:\.[\w:]+)*)(?:\s+(?![:\s])([^;]*))?;\s*(?://|$)"
)
_STATEMENT = re.compile(
    r"\s*(?:(?P<brace>[{}])"
    r"|(?P<comment>//[^\n]*)"
    r"|(?P<loc>\.loc\b[^\n]*)"
    r"|(?P<label>[A-Za-z_$%][\w$]*)\s*:(?!:)"
    r"|(?P<directive>\.[a-z]\w*\b[^;]*);"
    r"|(?:@(?P<negated>!?)\s*(?P<guard>[%\w$]+)\s+)?(?P<opcode>[a-z]\w*(?:\.[\w:]+)*)"
    r"(?:\s+(?P<operands>[^;:\s][^;]*)|\s*(?P<block>\([^;]*)|\s*);)"
)
_REG = re.compile(r"\.reg\s*(?:\.v[24]\s*)?\.(\w+)\s+(.*)", re.DOTALL)
_RANGE = re.compile(r"([%\w$]+)\s*<\s*(\d{1,9})\s*>$")
MAX_SCOPED = 4096
"""registers of one declaration in a nested scope, each of which gets a name of its own"""
_TABLE = re.compile(r"\s*\.branchtargets\s+([^;]*);")
_WORD = re.compile(r"\.?[%\w$]+")
_SPACES = (".param", ".shared", ".local", ".global", ".const", ".tex")
_TYPE = re.compile(r"\.((?:[bsuf]|bf)\d+\w*|pred|texref|surfref|samplerref|tensormap)\b")
_EXTENT = re.compile(r"\[\s*(\w*)\s*\]")
_FLOAT_BITS = re.compile(r"0[fFdD]([0-9a-fA-F]{8}(?:[0-9a-fA-F]{8})?)")
_WHOLE = re.compile(r"-?\d{1,20}")
_SIZES = {f"{kind}{8 * size}": size for kind in "bsuf" for size in (1, 2, 4, 8)}
"""bytes of types"""
_KINDS = ("brace", "comment", "loc", "label", "directive")
_NO_STATEMENT = "this is no statement"
_OPENS_ASM, _CLOSES_ASM = "// begin inline asm", "// end inline asm"


def broken(line: int, what: str, why: str) -> SpecError:
    """The error for text that is no PTX, or not all of it."""
    shown = " ".join(what.split())
    return SpecError(
        f"line {line} of the PTX: {why}" + (f": {shown[:80]!r}" if shown else ""),
        valid="a whole PTX module as a compiler writes it, from `.version` to the last brace",
        next_step="build the variant again and hand over the text of its PTX unchanged",
    )


@dataclass(slots=True)
class Body:
    """What the statements of a function have said so far."""

    places: Places
    instructions: list[Instruction] = field(default_factory=list[Instruction])
    labels: dict[str, int] = field(default_factory=dict[str, int])
    registers: list[Registers] = field(default_factory=list[Registers])
    variables: list[Variable] = field(default_factory=list[Variable])
    tables: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    pragmas: list[str] = field(default_factory=list[str])
    place: Place = ()
    asm: bool = False
    scopes: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    opened: int = 0
    """scopes opened so far, which numbers them"""

    @property
    def names(self) -> Mapping[str, str] | None:
        """Of the innermost nested scope."""
        return self.scopes[-1] if self.scopes else None


def read_body(lines: Sequence[str], at: int, rest: str, body: Body) -> tuple[int, int]:
    """Read statements until the brace that closes the function: `rest` of the line with index `at`
    (what follows the opening brace), then the lines after it.

    Returns the index of the line with that brace and how many characters of it stand after the
    brace. Raises SpecError for what is no statement, and for a text that ends before.
    """
    left = _statements(rest, at + 1, body)
    if isinstance(left, int):
        return at, left
    pending, first = [left] if left else [], at
    for index in range(at + 1, len(lines)):
        line = lines[index]
        if not pending:
            found = _INSTRUCTION.match(line)
            if found is not None:
                body.instructions.append(_whole_line(found, index + 1, body))
                continue
            if _is_remark(line, body):
                continue
            first = index
        elif ";" not in line:  # a statement over several lines goes on
            pending.append(line.partition("//")[0])
            continue
        left = _statements("\n".join([*pending, line]), first + 1, body)
        if isinstance(left, int):
            return index, left
        pending = [left] if left else []
    raise broken(len(lines), " ".join(pending[:1]), "the text ends inside a function")


def _whole_line(found: re.Match[str], line: int, body: Body) -> Instruction:
    """The instruction of a line that holds nothing else."""
    negated, guard, opcode, operands = found.groups()
    return Instruction(
        opcode,
        operands.rstrip() if operands else "",
        guard or "",
        negated == "!",
        line,
        body.place,
        body.asm,
        body.scopes[-1] if body.scopes else None,
    )


def _is_remark(line: str, body: Body) -> bool:
    """Take in a line that is blank, a comment or a source place; False for any other."""
    start = line.lstrip()
    if start.startswith(".loc"):
        place = body.places.at(line, body.place)
        if place is not None:
            body.place = place
        return place is not None
    if start.startswith("//"):
        _comment(start, body)
        return True
    return not start


def _statements(text: str, line: int, body: Body) -> str | int:
    """Read the statements of a text that begins on a line.

    Returns what is left, the beginning of a statement that goes on (after `first` of the caller),
    or, where the function was closed, the number of characters behind its brace.
    """
    position = counted = 0
    while True:
        found = _STATEMENT.match(text, position)
        if found is None:
            rest = text[position:]
            if ";" in rest.partition("//")[0]:
                raise broken(line + text.count("\n", counted, position), rest, _NO_STATEMENT)
            return rest if rest.strip() else ""
        kind = found.lastgroup or "opcode"
        begins = found.start("opcode" if kind not in _KINDS else kind)
        line, counted = line + text.count("\n", counted, begins), begins
        position = found.end()
        if kind == "brace":
            if not _brace(found["brace"], body):
                return len(text) - position
        elif kind == "comment":
            _comment(found["comment"], body)
        elif kind == "loc":
            place = body.places.at(found["loc"], body.place)
            if place is None:
                raise broken(line, found["loc"], "this is no source place")
            body.place = place
        elif kind == "label":
            _label(found["label"], text, position, body)
        elif kind == "directive":
            _directive(found["directive"], line, body)
        else:
            body.instructions.append(_instruction(found, line, body))


def _instruction(found: re.Match[str], line: int, body: Body) -> Instruction:
    operands = " ".join((found["operands"] or found["block"] or "").split())
    return Instruction(
        opcode=found["opcode"],
        operands=operands,
        guard=found["guard"] or "",
        negated=found["negated"] == "!",
        line=line,
        place=body.place,
        asm=body.asm,
        names=body.names,
    )


def _brace(brace: str, body: Body) -> bool:
    """Open or close a nested scope; False where the brace closes the function."""
    if brace == "{":
        body.opened += 1
        body.scopes.append(dict(body.scopes[-1]) if body.scopes else {})
        return True
    if not body.scopes:
        return False
    body.scopes.pop()
    return True


def _comment(comment: str, body: Body) -> None:
    if comment.startswith(_OPENS_ASM):
        body.asm = True
    elif comment.startswith(_CLOSES_ASM):
        body.asm = False


def _label(name: str, text: str, position: int, body: Body) -> None:
    table = _TABLE.match(text, position)
    if table is not None:
        body.tables[name] = tuple(each.strip() for each in table[1].split(","))
        return
    body.labels[_declared(name, body)] = len(body.instructions)


def _declared(name: str, body: Body) -> str:
    """The name that stands for one declared here; in a nested scope it gets one of its own."""
    if not body.scopes:
        return name
    unique = f"{name}@{body.opened}"
    body.scopes[-1][name] = unique
    return unique


def _directive(text: str, line: int, body: Body) -> None:
    if text.startswith(".reg"):
        found = _REG.match(text)
        if found is None:
            raise broken(line, text, "registers without a type")
        body.registers += [_registers(found[1], each, line, body) for each in found[2].split(",")]
    elif text.startswith((".shared", ".local", ".param", ".global", ".const")):
        # Parameters of a call belong to the call, not to the function.
        if not text.startswith(".param"):
            body.variables.append(variable(text, line))
    elif text.startswith(".pragma"):
        body.pragmas.append(text.partition(".pragma")[2].strip().strip('"'))


def _registers(type_: str, declared: str, line: int, body: Body) -> Registers:
    name = declared.strip()
    several = _RANGE.match(name)
    if several is None:
        return Registers(type_, _declared(name, body), None)
    if body.scopes:
        if int(several[2]) > MAX_SCOPED:
            raise broken(line, declared, f"a scope declares more than {MAX_SCOPED} registers")
        for number in range(int(several[2])):
            _declared(f"{several[1]}{number}", body)
    return Registers(type_, several[1], int(several[2]))


def variable(text: str, line: int) -> Variable:
    """A declaration without its semicolon, of memory or of a parameter. Raises SpecError."""
    head = text.partition("=")[0]
    words: list[str] = _WORD.findall(head.partition("[")[0])
    if len(words) < 2 or words[0] not in _SPACES or words[-1][0] in ".0123456789":
        raise broken(line, text, "this declares no variable")
    types = [word[1:] for word in words if word[0] == "." and _TYPE.match(word)]
    length: int | None = 1
    for extent in _EXTENT.findall(head):
        known = extent.isdecimal() and len(extent) < 19
        length = length * int(extent) if known and length is not None else None
    kind = types[-1] if types else ""
    initial = _initial(text.partition("=")[2].strip(), kind, length)
    return Variable(words[0][1:], kind, words[-1], length, line, initial)


def _initial(given: str, kind: str, length: int | None) -> bytes | None:
    """The bytes that a variable begins with, as memory has them; None where they are not told, or
    hang on an address."""
    if kind == "b8" and given.startswith("{"):
        return _bytes(given, length)
    size = _SIZES.get(kind)
    if length != 1 or size is None:
        return None
    if bits := _FLOAT_BITS.fullmatch(given):
        return bytes.fromhex(bits[1])[::-1] if len(bits[1]) == 2 * size else None
    if not _WHOLE.fullmatch(given):
        return None
    return (int(given) % (1 << 8 * size)).to_bytes(size, "little")


def _bytes(listed: str, length: int | None) -> bytes | None:
    """`{0, 0, 128, 63}` as so many bytes; None where it is not that, such as with addresses."""
    found = [each.strip() for each in listed.strip().strip("{}").split(",")]
    if len(found) != length or not all(each.isdecimal() and int(each) < 256 for each in found):
        return None
    return bytes(map(int, found))
