"""Source places of `.loc` directives, through inlining, in both spellings.

nvcc and NVRTC write one `.loc` for every level, each with `inlined_at` and the place of the level
above it; a level is given by the last `.loc` that named its place. Triton writes one `.loc` with
the chain of calls in a comment: `// standard.py:43:17 @[ matmul.py:18:34 ]`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from .module import Frame, Place

_FILE = re.compile(r'^[ \t]*\.file[ \t]+(\d{1,9})[ \t]+"([^"\n]*)"', re.MULTILINE)
_LOC = re.compile(
    r"\s*\.loc\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})"
    r"(?:\s*,\s*function_name\s+([\w$]+)(?:\s*\+\s*\d+)?\s*,\s*inlined_at\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9}))?"
    r"\s*(?:[^/\s][^/]*)?(?://(.*))?$"
)
_CALLER = re.compile(r"@\[\s*(\S[^\[\]]*?):(\d{1,9}):(\d{1,9})")
_STRING = re.compile(r"^([\w$]+):\s*\n((?:[ \t]*\.b8[ \t][^\n]*\n)+)", re.MULTILINE)
_NUMBER = re.compile(r"\d{1,9}")


def files_of(text: str) -> dict[int, str]:
    """Paths by the number of `.file`; the directives may stand at the end of the text."""
    return {int(number): path for number, path in _FILE.findall(text)}


def strings_of(text: str) -> dict[str, str]:
    """The strings of `.debug_str` by their labels: `function_name` refers to them."""
    start = text.find(".debug_str")
    if start < 0 or "function_name" not in text:
        return {}
    found = _STRING.findall(text, start)
    return {label: _ascii(data) for label, data in found}


def _ascii(data: str) -> str:
    codes = bytes(int(code) & 255 for line in data.split("\n") for code in _bytes_in(line))
    return codes.rstrip(b"\0").decode("utf-8", "replace")


def _bytes_in(line: str) -> list[str]:
    return _NUMBER.findall(line.partition("//")[0].partition(".b8")[2])


class Places:
    """Follows the `.loc` directives of a text in order; `at` is called once for each."""

    def __init__(self, files: Mapping[int, str], strings: Mapping[str, str]) -> None:
        self._files = files
        self._strings = strings
        bases = [path.rpartition("/")[2] for path in files.values()]
        self._paths = {
            base: path
            for base, path in zip(bases, files.values(), strict=True)
            if bases.count(base) == 1
        }
        self._told = dict[str, Place | None]()
        self._last = dict[tuple[str, int, int], Place]()

    def at(self, directive: str, former: Place) -> Place | None:
        """The place that a `.loc` gives to what follows; line 0 means that it says none and the
        former place holds. None: this is no well-formed `.loc`."""
        if directive in self._told:
            return self._told[directive] or former
        found: re.Match[str] | None = _LOC.match(directive)
        if found is None:
            return None
        number, line, column = found[1], found[2], found[3]
        function, comment = found[4], found[8]
        if line == "0":
            self._told[directive] = None
            return former
        name: str = self._strings.get(function, function) if function else ""
        frame = Frame(self._file(number), int(line), int(column), name)
        if function:
            site = (self._file(found[5]), int(found[6]), int(found[7]))
            place = (frame, *self._outside(frame, site))
        else:
            place = (frame, *self._callers(comment or ""))
            self._told[directive] = place
        self._last[frame[:3]] = place
        return place

    def _file(self, number: str) -> str:
        return self._files.get(int(number), f"file {number}")

    def _callers(self, comment: str) -> Place:
        called: list[tuple[str, str, str]] = _CALLER.findall(comment)
        return tuple(
            Frame(self._paths.get(name, name), int(line), int(column))
            for name, line, column in called
        )

    def _outside(self, frame: Frame, site: tuple[str, int, int]) -> Place:
        """The levels above an inlined frame. Instances of one recursive template share the line
        of the call: then the last mention of the site may be the function's own line."""
        last = self._last.get(site)
        if last is None:
            return (Frame(*site),)
        for depth, each in enumerate(last):
            if each.function == frame.function and each[:3] == site:
                return last[depth + 1 :]
        return last
