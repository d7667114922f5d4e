"""Whether a change of a source can reach some of its lines, by the text alone.

It is asked before anything is built, so it says `no` only where the text shows it: every changed
line is a plain statement of its own, and what it writes goes into none of the lines, nor into
any control. Whatever may change more is left open.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from ...runners.wording import number_ranges

_NAME = re.compile(r"[A-Za-z_]\w*")
_STEERS = re.compile(
    r"[{}:\\#@]|//|/\*|\*/|\"\"\"|'''|\b(?:if|else|for|while|do|switch|case|goto|break|continue|"
    r"return|def|with|asm|template|using|typedef|static|__\w+)\b|\b\w*(?:sync|barrier|fence)\w*\b"
)
"""what may change more than its own line: control, declarations for the compiler, comments (which
may open or close), barriers"""
_CONTROL = re.compile(r"\b(?:if|for|while|switch)\b")
_WRITES = re.compile(r"([A-Za-z_]\w*)\s*(?:\[[^=;]*\])*\s*(?:[-+*/%&|^]|<<|>>)?=(?!=)")
_COUNTS = re.compile(r"(?:\+\+|--)\s*([A-Za-z_]\w*)|([A-Za-z_]\w*)\s*(?:\+\+|--)")
_ADDRESS = re.compile(r"&\s*([A-Za-z_]\w*)")
_STORES = re.compile(r"\btl\.(?:store|atomic_\w+)\s*\(\s*([A-Za-z_]\w*)")
_CALLS = re.compile(r"([A-Za-z_]\w*)\s*\(")
_DEFINES = r"\bdef\s+{0}\s*\(|(?<![.\w]){0}\s*\([^;{{}}]*\)\s*(?:const\s*)?\{{"
_OPEN_END = re.compile(r"[-+*/%&|^<>=?,(\[]\s*$")
_GUARD = re.compile(r"\s*(?:else\s+)?if\s*\(")


def kept_away(before: str, after: str, lines: Collection[int]) -> str | None:
    """Why a change keeps away from some lines of `before`, counted from 1; None: it may reach them,
    or the text does not show that it does not."""
    old, new = before.splitlines(), after.splitlines()
    removed, added = list[int](), list[int]()
    for tag, i, j, k, m in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            removed += range(i, j)
            added += range(k, m)
    if not lines or not (removed or added) or any(n + 1 in lines for n in removed):
        return None
    statements = _statements([old[n] for n in removed], [new[n] for n in added])
    wanted = _wanted(old, lines) | _wanted(new, ())
    if not all(_is_plain(each, wanted, before + after) for each in statements):
        return None
    where = f"lines {number_ranges([n + 1 for n in removed])} differ" if removed else "lines come"
    return f"{where}, and write nothing that lines {number_ranges(lines)} rest on"


def _statements(removed: Sequence[str], added: Sequence[str]) -> list[str]:
    """What the changed lines say, without conditions before them that stay as they were."""
    pairs = [_guarded(each) for each in removed], [_guarded(each) for each in added]
    guards = [[guard for guard, _ in each if guard] for each in pairs]
    if guards[0] == guards[1]:
        return [rest for each in pairs for _, rest in each if rest.strip()]
    return [each for each in (*removed, *added) if each.strip()]


def _guarded(line: str) -> tuple[str, str]:
    """(`if (row < m)`, what stands behind it); an empty guard where the line begins with none."""
    found = _GUARD.match(line)
    depth = 1
    for at in range(found.end(), len(line)) if found else ():
        depth += {"(": 1, ")": -1}.get(line[at], 0)
        if not depth:
            return " ".join(line[: at + 1].split()), line[at + 1 :]
    return "", line


def _wanted(source: Sequence[str], lines: Collection[int]) -> frozenset[str]:
    """The names that some lines, and all control, rest on."""
    control = (_guarded(line)[0] or line for line in source if _CONTROL.search(line))
    chosen = [*control, *(source[n - 1] for n in lines if n <= len(source))]
    found = {name for line in chosen for name in _NAME.findall(line)}
    plain = [(_written(line), set(_NAME.findall(line))) for line in source]
    size = -1
    while size != len(found):
        size = len(found)
        for written, names in plain:
            if written & found:
                found |= names
    return frozenset(found)


def _written(statement: str) -> set[str]:
    """Names that a statement writes, or may by their address."""
    found = set(_WRITES.findall(statement)) | set(_ADDRESS.findall(statement))
    found |= set(_STORES.findall(statement))
    return found | {name for pair in _COUNTS.findall(statement) for name in pair if name}


def _is_plain(statement: str, wanted: Collection[str], sources: str) -> bool:
    """Whether it is a statement of its own that writes none of these names."""
    whole = all(statement.count(a) == statement.count(b) for a, b in ("()", "[]"))
    if _STEERS.search(statement) or not whole or _OPEN_END.search(statement):
        return False
    written = _written(statement)
    if not written or written & set(wanted):
        return False
    # what a function of the kernel's own does with its arguments, this line does not say
    return not any(
        re.search(_DEFINES.format(re.escape(name)), sources) for name in _CALLS.findall(statement)
    )
