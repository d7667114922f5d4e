"""Words that stand for code which is not there: `// ... rest unchanged`."""

from __future__ import annotations

import re

from ...runners.errors import SpecError

COMMENT = re.compile(r"^\s*(?:#|//|/\*+|\*)[ \t]*(?P<said>.*?)[ \t]*(?:\*/)?[ \t]*$")
DOTS = re.compile(r"(\.\.\.|…)")
ABOUT = re.compile(
    r"\b(rest|remain\w*|unchanged|existing|omitted|same as|as (before|above|is)|previous|original|"
    r"other code|your code|code (here|continues))\b",
    re.IGNORECASE,
)
PLAIN = re.compile(
    r"(the )?(rest|remainder|remaining (code|kernel|lines|part))"
    r"( of (the |this |your )?(code|kernel|file|function|program|source|loop|body|module))?"
    r"( (is|are|stays?|remains?|left))?( (unchanged|the same|same|as before|as is|omitted))?\.?"
    r"|((existing|previous|original) code|code)( (unchanged|omitted|goes here|here|as before))?\.?"
    r"|(unchanged|same as (before|above)|no changes?( here)?)\.?",
    re.IGNORECASE,
)


def require_whole(source: str, base: str) -> None:
    """Raise SpecError where a comment of the source that the base does not have stands for code.

    Only comments that have their line alone are read, and only words that say nothing else.
    """
    known = {line.strip() for line in base.split("\n")}
    for number, line in enumerate(source.split("\n"), 1):
        if line.strip() not in known and _stands_for_code(line):
            raise SpecError(
                f"line {number} of the source, `{line.strip()[:80]}`, stands for code that is not "
                "there",
                valid="the whole file; or a diff, which leaves out what does not change",
            )


def _stands_for_code(line: str) -> bool:
    match = COMMENT.match(line)
    if match is None:
        return False
    said = match["said"]
    words = DOTS.sub(" ", said).strip(" ()[]<>-")
    if DOTS.search(said):
        return not words or ABOUT.search(words) is not None
    return PLAIN.fullmatch(words) is not None and len(words.split()) > 1
