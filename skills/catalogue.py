"""The pages of expert knowledge: what there is, in one line each, and the text of one.

A page is `<id>/SKILL.md` in the Agent Skills format (https://agentskills.io/specification): front
matter with `name` and `description`, then Markdown. The skill of a rule has the rule's name with
hyphens in place of underscores. Pages on PyTorch modules begin with `torch-`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
LONGEST_ID, LONGEST_DESCRIPTION = 64, 200
"""characters: of the Agent Skills format; ours, as the catalogue of all is read in one go"""
CLOSE = 5
MODULES = "torch-"
"""how ids of pages on PyTorch modules begin: they are read after `analyze`, not at a kernel"""
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_HEAD = re.compile(r"---\nname: (?P<name>.+)\ndescription: (?P<description>.+)\n---\n")


class UnknownSkill(LookupError):
    """No page of that id; `close` are those that may have been meant."""

    def __init__(self, wanted: str, close: tuple[str, ...]) -> None:
        hint = f"Close: {', '.join(close)}" if close else "one_line_catalogue() lists all"
        super().__init__(f"no skill `{wanted}`\n{hint}")
        self.close = close


@dataclass(frozen=True, slots=True)
class Skill:
    """One page."""

    id: str
    description: str
    """one line: what it is about, and when to read it"""
    path: Path

    @property
    def first_sentence(self) -> str:
        """Of the description: what it is about."""
        return self.description.partition(". ")[0].rstrip(".")

    @property
    def of_modules(self) -> bool:
        """Whether it is on PyTorch modules, and not on a kernel."""
        return self.id.startswith(MODULES)

    def text(self) -> str:
        """The whole page, its front matter included."""
        return self.path.read_text(encoding="utf-8")


@cache
def catalogue() -> tuple[Skill, ...]:
    """Every page, sorted by id; read once. Raises ValueError for a page of another form."""
    return tuple(read_skill(path) for path in sorted(FOLDER.glob("*/SKILL.md")))


def read_skill(path: Path) -> Skill:
    """The front matter of one page. Raises ValueError that says what is wrong with it."""
    head = _HEAD.match(path.read_text(encoding="utf-8"))
    if head is None:
        raise ValueError(f"{path}: does not begin with ---, name:, description:, ---, a line each")
    name, description = head["name"], head["description"]
    if name != path.parent.name:
        raise ValueError(f"{path}: name `{name}` is not that of its folder")
    if len(name) > LONGEST_ID or not _ID.fullmatch(name):
        raise ValueError(f"{path}: name is up to {LONGEST_ID} of a-z and 0-9, with single hyphens")
    if len(description) > LONGEST_DESCRIPTION:
        raise ValueError(f"{path}: description is longer than {LONGEST_DESCRIPTION} characters")
    return Skill(id=name, description=description, path=path)


def read(skill_id: str) -> str:
    """The page of a skill, or of a rule by its id (`smem_bank_conflicts`). Raises UnknownSkill."""
    wanted = skill_id.strip().lower().replace("_", "-")
    pages = {skill.id: skill for skill in catalogue()}
    if wanted not in pages:
        raise UnknownSkill(skill_id, tuple(get_close_matches(wanted, pages, CLOSE, 0.5)))
    return pages[wanted].text()


def one_line_catalogue() -> str:
    """All skills, a line each: `id: ` and the first sentence of the description. Some 2,500
    tokens."""
    return "\n".join(f"{skill.id}: {skill.first_sentence}" for skill in catalogue())
