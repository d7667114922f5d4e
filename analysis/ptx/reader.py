"""PTX text to frozen values, in time linear in the text."""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

from .bodies import Body, broken, read_body, variable
from .module import Function, Module, Variable
from .places import Places, files_of, strings_of

_BLOCK_COMMENT = re.compile(r'"[^"\n]*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LINKAGE = r"(?:\.(?:visible|extern|weak|common)\s+)*"
_TOP = re.compile(
    r"\s+|//[^\n]*|\.file\b[^\n]*|\.loc\b[^\n]*|\.address_size\s+(?P<bits>\d{1,3})"
    r"|\.version\s+(?P<version>\d+\.\d+)|\.target\s+(?P<target>[\w, \t]+)"
    r"|(?P<section>\.section\b[^{]*\{)"
    rf"|(?P<header>{_LINKAGE}\.(?P<kind>entry|func)\b)"
    rf"|{_LINKAGE}(?P<variable>\.(?:global|const|shared|local|tex|param)\b[^;]*);"
    r"|\.(?:pragma|alias)\b[^;]*;|;|[\w$]+:\s*\n|@@DWARF[^\n]*"
)
_HEADER_END = re.compile(r"[{;]")
_NAME = re.compile(r"\.(?:entry|func)\s*(?:\.noreturn\s*)?(?:\([^)]*\)\s*)?([\w$.%]+)")
_LIST = re.compile(r"\(([^()]*)\)")
_DIRECTIVE = re.compile(r"\.(\w+)((?:[ \t]+\d{1,9}(?:[ \t]*,[ \t]*\d{1,9})*)?)")
_LINE_COMMENT = re.compile(r"//[^\n]*")


def read_ptx(text: str) -> Module:
    """Read a whole PTX module: its functions with their instructions, and where each comes from.

    Debug sections are skipped. Raises SpecError, with the line, for a text that is truncated or
    no PTX.
    """
    text = _without_block_comments(text)
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    said = {"version": "", "target": "", "bits": ""}
    variables, functions = list[Variable](), list[Function]()
    files, strings = files_of(text), strings_of(text)
    position = 0
    while position < len(text):
        found = _TOP.match(text, position)
        line = bisect_right(starts, position)
        if found is None:
            raise broken(line, text[position : position + 200], _why(said))
        position = found.end()
        kind = found.lastgroup
        if kind in said:
            said[kind] = found[kind].strip()
        elif kind == "variable":
            variables.append(variable(found["variable"], line))
        elif kind == "section":
            position = _section_end(text, position, line)
        elif kind == "header":
            if not said["version"]:
                raise broken(line, found["header"], "a function before `.version`")
            ends = _header_end(text, position, line)
            position = ends + 1
            if text[ends] == "{":
                body = Body(Places(files, strings))
                at = bisect_right(starts, ends) - 1
                last, behind = read_body(lines, at, lines[at][ends + 1 - starts[at] :], body)
                header = _LINE_COMMENT.sub("", text[found.start() : ends])
                functions.append(_function(header, found["kind"], line, last + 1, body))
                position = starts[last + 1] - 1 - behind
    if not said["version"] or not said["target"]:
        raise broken(1, lines[0], "no PTX module: it lacks `.version` or `.target`")
    return Module(
        version=said["version"],
        target=said["target"],
        address_size=int(said["bits"] or 32),
        files=files,
        variables=tuple(variables),
        functions=tuple(functions),
    )


def _why(said: dict[str, str]) -> str:
    return "this is no directive" if said["version"] else "no PTX module: `.version` comes first"


def _without_block_comments(text: str) -> str:
    """The text with as many lines, each where it was."""
    if "/*" not in text:
        return text
    return _BLOCK_COMMENT.sub(
        lambda found: " " + "\n" * found[0].count("\n") if found[0][:2] == "/*" else found[0], text
    )


def _section_end(text: str, position: int, line: int) -> int:
    """Behind the brace that closes a debug section: the first that stands in no comment."""
    while True:
        brace = text.find("}", position)
        if brace < 0:
            raise broken(line, ".section", "the text ends inside a section")
        if "//" not in text[text.rfind("\n", 0, brace) + 1 : brace]:
            return brace + 1
        position = _line_end(text, brace)


def _header_end(text: str, position: int, line: int) -> int:
    """Where a header ends: at the brace of the body, or at the semicolon of a declaration."""
    while True:
        found = _HEADER_END.search(text, position)
        if found is None:
            raise broken(line, text[position : position + 80], "the text ends inside a header")
        if "//" not in text[text.rfind("\n", 0, found.start()) + 1 : found.start()]:
            return found.start()
        position = _line_end(text, found.start())


def _line_end(text: str, position: int) -> int:
    end = text.find("\n", position)
    return len(text) if end < 0 else end


def _function(header: str, kind: str, line: int, last_line: int, body: Body) -> Function:
    named = _NAME.search(header)
    if named is None:
        raise broken(line, header, "a function without a name")
    listed = _LIST.search(header, named.end())
    parameters = listed[1].strip() if listed is not None else ""
    after = header[listed.end() if listed is not None else named.end() :]
    return Function(
        name=named[1],
        kind="entry" if kind == "entry" else "func",
        line=line,
        last_line=last_line,
        parameters=tuple(
            variable(each.strip(), line) for each in parameters.split(",") if each.strip()
        )
        if ".reg" not in parameters
        else (),
        registers=tuple(body.registers),
        variables=tuple(body.variables),
        directives={
            name: tuple(int(each) for each in re.findall(r"\d+", values))
            for name, values in _DIRECTIVE.findall(after)
        },
        instructions=tuple(body.instructions),
        labels=body.labels,
        tables=body.tables,
        pragmas=tuple(body.pragmas),
    )
