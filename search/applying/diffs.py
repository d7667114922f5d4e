"""Unified diffs as models write them, applied to one text: wrong counts, stale context, drift.

Three appliers in a row: `git apply --recount`, GNU patch with fuzz, and a matcher of our
own that looks for the lines a hunk names. Each is right where the others give up.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path

from ...runners.errors import SpecError

TIMEOUT_S = 10.0
FILE = "kernel.txt"
PATCH = "change.diff"
LINE = re.compile(r"@@ -(\d+)")
APPLIERS = (
    ("git", "apply", "--recount", "--ignore-whitespace", "-C1", PATCH),
    ("patch", "-u", "-l", "-F3", "--force", "--no-backup-if-mismatch", "-r", "-", FILE, PATCH),
)
ENOUGH = 0.6  # of a hunk's lines that must be found where it is put
BETWEEN = 2  # lines of the source that the diff does not know, inside a hunk
STARTS = 20


@dataclass(frozen=True)
class Hunk:
    """One change: lines with their mark (blank, - or +), and the line it claims to start at."""

    title: str
    line: int
    body: tuple[str, ...]

    @property
    def old(self) -> list[str]:
        """The lines that must be there: context and removed ones."""
        return [text[1:] for text in self.body if text[0] != "+"]


def apply_diff(source: str, diff: str, scratch: Path | None = None) -> str:
    """The source with the diff applied; its last line ends in a newline.

    Names of files in the diff do not matter. `scratch` holds a folder made for the
    appliers and removed again; None: the system's. Raises SpecError for a diff of two
    files, without hunks, or with a hunk that fits nowhere: it shows the nearest lines.
    """
    hunks = read_hunks(diff)
    text = source if source.endswith("\n") else source + "\n"
    with tempfile.TemporaryDirectory(dir=scratch, prefix="diff-") as folder:
        for command in APPLIERS:
            if command[0] == "patch" and not all(_is_known(hunk, text) for hunk in hunks):
                continue
            result = _run(command, text, hunks, Path(folder))
            if result is not None:
                return result
    lines = text[:-1].split("\n")
    for index, hunk in enumerate(hunks):
        lines = _place(lines, hunk, f"hunk {index + 1} of {len(hunks)}")
    return "\n".join(lines) + "\n"


def read_hunks(diff: str) -> tuple[Hunk, ...]:
    """The hunks of a diff of one file, counts ignored. Raises SpecError otherwise."""
    lines = [line for line in diff.split("\n") if not line.startswith(("```", "\\ No newline"))]
    starts = [i for i, line in enumerate(lines) if line.startswith("@@")]
    headed = [i for i in starts if i > 1 and _is_header(lines[i - 2 : i])]
    files = {lines[i - 1].split()[1] for i in headed if len(lines[i - 1].split()) > 1}
    if not starts or len(files) > 1:
        raise SpecError(
            f"the diff changes {len(files)} files" if starts else "the diff has no hunk",
            valid="a unified diff of the kernel's one source, with hunks that begin with @@",
            next_step="give the whole file as `source` if a diff cannot say it",
        )
    ends = [*(i - 2 if i in headed else i for i in starts[1:]), len(lines)]
    hunks = tuple(
        _hunk(lines[start], lines[start + 1 : end]) for start, end in zip(starts, ends, strict=True)
    )
    for hunk in hunks:
        if not any(line.strip() for line in hunk.old):
            raise SpecError(
                f"hunk `{hunk.title.strip()}` names no line of the source, so it has no place",
                valid="some unchanged lines, marked with a blank, around every change",
            )
    return hunks


def _is_header(lines: Sequence[str]) -> bool:
    return lines[0].startswith("--- ") and lines[1].startswith("+++ ")


def _hunk(title: str, lines: Sequence[str]) -> Hunk:
    """Unmarked lines between marked ones are context whose blank was lost, later ones prose."""
    end = next((i for i, line in enumerate(lines) if line.startswith("diff --git")), len(lines))
    marked = [i for i in range(end) if lines[i].strip() and lines[i][0] in " +-"]
    kept = lines[: marked[-1] + 1 if marked else 0]
    body = tuple(line if line and line[0] in " +-" else " " + line for line in kept)
    number = LINE.match(title)
    return Hunk(title, int(number[1]) if number else 1, body)


def _written(hunks: Sequence[Hunk]) -> str:
    """The hunks as a diff of FILE with right counts."""
    text = [f"--- a/{FILE}", f"+++ b/{FILE}"]
    shift = 0
    for hunk in hunks:
        old, new = len(hunk.old), sum(line[0] != "-" for line in hunk.body)
        text.append(f"@@ -{hunk.line},{old} +{hunk.line + shift},{new} @@")
        text += hunk.body
        shift += new - old
    return "\n".join(text) + "\n"


def _run(command: Sequence[str], text: str, hunks: Sequence[Hunk], folder: Path) -> str | None:
    """What the applier makes of the text; None when it is not here, gives up or hangs."""
    program = shutil.which(command[0])
    if program is None:
        return None
    (folder / FILE).write_bytes(text.encode())
    (folder / PATCH).write_bytes(_written(hunks).encode())
    environment = {
        "PATH": str(Path(program).parent),
        "LC_ALL": "C",
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        # a repository around the scratch folder must not change what paths mean
        "GIT_CEILING_DIRECTORIES": str(folder.resolve().parent),
    }
    try:
        done = subprocess.run(
            [program, *command[1:]],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
        )
    except subprocess.TimeoutExpired:
        return None
    return (folder / FILE).read_bytes().decode() if done.returncode == 0 else None


def _is_known(hunk: Hunk, text: str) -> bool:
    """Whether most of the hunk's old lines stand together somewhere.

    GNU patch with fuzz puts a hunk that only adds lines at its line number even where
    none of its context is.
    """
    old, bare = ([_bare(line) for line in lines] for lines in (hunk.old, text.split("\n")))
    return any(_score(old, bare, at) >= ENOUGH for at in _likely_starts(old, bare))


def _place(lines: list[str], hunk: Hunk, name: str) -> list[str]:
    """The lines with the hunk put where most of its old lines are, removed ones all of them."""
    old = [_bare(line) for line in hunk.old]
    bare = [_bare(line) for line in lines]
    starts = _likely_starts(old, bare)
    scores = {at: _score(old, bare, at) for at in starts}
    ranked = sorted(starts, key=lambda at: (-scores[at], abs(at + 1 - hunk.line)))
    for at in ranked:
        placed = _merged(lines, bare, hunk, at) if scores[at] >= ENOUGH else None
        if placed is not None:
            return placed
    best = ranked[0] if ranked else min(hunk.line, len(lines)) - 1
    shown = "\n".join(
        f"{i + 1:5} | {lines[i]}" for i in range(best, min(len(lines), best + max(3, len(old))))
    )
    raise SpecError(
        f"{name} ({hunk.title.strip()}) does not fit the current source; nearest lines:\n{shown}",
        valid="context and removed lines exactly as they stand in the current source",
        next_step="make the diff anew from these lines, or give the whole file as `source`",
    )


def _bare(line: str) -> str:
    return "".join(line.split())


def _likely_starts(old: Sequence[str], bare: Sequence[str]) -> list[int]:
    """Where the hunk could begin, judged by single lines: equal ones, else the most alike."""
    places: dict[str, list[int]] = {}
    for i, line in enumerate(bare):
        places.setdefault(line, []).append(i)
    votes = Counter(
        max(0, at - i) for i, line in enumerate(old) if line for at in places.get(line, ())
    )
    if not votes:
        longest = max(old, key=len)
        alike = get_close_matches(longest, list(places), n=1, cutoff=0.5)
        votes = Counter(max(0, places[line][0] - old.index(longest)) for line in alike)
    return [at for at, _ in votes.most_common(STARTS)]


def _blocks(old: Sequence[str], bare: Sequence[str], at: int) -> dict[int, int]:
    """Which old line is which line of the source, from line `at` on (a few may lie between)."""
    window = bare[at : at + len(old) + BETWEEN]
    matcher = SequenceMatcher(None, old, window, autojunk=False)
    return {b.a + k: at + b.b + k for b in matcher.get_matching_blocks() for k in range(b.size)}


def _score(old: Sequence[str], bare: Sequence[str], at: int) -> float:
    """The share of the hunk's old lines found in order from line `at` on, blank ones aside."""
    wanted = sum(bool(line) for line in old)
    return sum(bool(old[i]) for i in _blocks(old, bare, at)) / wanted


def _merged(lines: list[str], bare: list[str], hunk: Hunk, at: int) -> list[str] | None:
    """The hunk worked into the source from line `at` on; context keeps the source's words.

    None when a removed line, or both neighbours of an added one, were not found.
    """
    place = _blocks([_bare(line) for line in hunk.old], bare, at)
    result, position, index = lines[:at], at, 0
    for text in hunk.body:
        if text[0] == "+":
            if index - 1 not in place and index not in place:
                return None
            result.append(text[1:])
            continue
        if index in place:
            result += lines[position : place[index]]
            position = place[index] + 1
            if text[0] == " ":
                result.append(lines[place[index]])
        elif text[0] == "-":
            return None
        index += 1
    return result + lines[position:]
