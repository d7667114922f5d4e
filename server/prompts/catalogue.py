"""The prompts: what a user wants done, told to the model in terms of the tools.

The text of each is the file of its name beside this one, with its arguments in braces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ...runners.errors import SpecError


@dataclass(frozen=True, slots=True)
class Argument:
    """What a user may fill in."""

    name: str
    description: str
    default: str | None = None
    """what stands there where nothing is given; None: it is required"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A task by name."""

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]

    def render(self, given: Mapping[str, str]) -> str:
        """The message to the model. Raises SpecError where an argument is missing or unknown."""
        known = [each.name for each in self.arguments]
        for name in given:
            if name not in known:
                raise SpecError(f"{self.name} has no argument `{name}`", valid=", ".join(known))
        filled = {each.name: given.get(each.name, "").strip() for each in self.arguments}
        for each in self.arguments:
            filled[each.name] = filled[each.name] or each.default or ""
            if not filled[each.name]:
                raise SpecError(f"{self.name} needs `{each.name}`: {each.description}")
        return (Path(__file__).parent / f"{self.name}.md").read_text("utf-8").format(**filled)


SOURCE = Argument("source", "the file of the kernel, or of its spec, as a path in the project")
PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        "optimize",
        "Make a kernel faster",
        "From a source file to a proven speedup: open, search, edit, confirm.",
        (
            SOURCE,
            Argument("goal", "sizes that count, and what for", "as fast as can be proven"),
        ),
    ),
    Prompt(
        "explain_bottleneck",
        "Explain what bounds a kernel",
        "Which roof a variant meets, from profile, PTX and times; changes nothing.",
        (
            Argument("kernel", "a kernel_id, as open_kernel or inspect kernels tells it"),
            Argument("variant", "a variant_id, incumbent or baseline", "incumbent"),
        ),
    ),
    Prompt(
        "review_search",
        "Review a search",
        "What a search tried, whether its winner is sound, and what to try next.",
        (Argument("search", "a search_id, as inspect searches tells it"),),
    ),
    Prompt(
        "port_kernel",
        "Port a kernel to another language",
        "Rewrite a kernel in Triton, CUDA or C++, and prove that it computes the same.",
        (SOURCE, Argument("to", "triton, cuda or cpp")),
    ),
)
"""In the order in which clients list them."""


def prompt(name: str) -> Prompt:
    """A prompt by its name. Raises SpecError for an unknown one."""
    for each in PROMPTS:
        if each.name == name:
            return each
    raise SpecError(f"there is no prompt `{name}`", valid=", ".join(each.name for each in PROMPTS))
