"""What was tried from a variant and elsewhere, and what paid after what, as blocks of a brief."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ...runners.wording import shortened
from ...search.digest import digest
from ...search.memory import TOLD, Idea
from ...search.planning.planner import Tried
from ...search.regraph.posterior import Posteriors
from ...search.regraph.report import Line, by_gain, edges
from ...search.regraph.transfer import learned_for, offered
from ...search.stored.experience import regraph_of
from ...search.stored.recalling import in_short, recall
from ...search.stored.variants import changed

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...store.records import KernelRecord, VariantRecord

DIGEST_LINES = 4
"""of each verdict"""
LONGEST = 300
"""characters of what is said of one attempt"""


def tried_blocks(tried: Sequence[Tried]) -> list[str]:
    """Every candidate of this search from this state with its ending, the newest first: of an
    account that is cut, the oldest part is missed least."""
    return [f"- {_tried(each)}" for each in reversed(tried)]


def idea_blocks(ideas: Iterable[Idea]) -> list[str]:
    """Ideas of searches of this kernel."""
    return [f"- {shortened(idea.describe(), LONGEST)}" for idea in ideas]


def digest_blocks(bench: Bench, kernel: KernelRecord) -> list[str]:
    """What works on the kernel, what does not and what is open, a block each; nothing while the
    kernel's ideas can be told one by one."""
    lessons = recall(bench.store, kernel.kernel_id).lessons
    if len(lessons) <= TOLD:
        return []
    lists = digest(in_short(bench.store, kernel.kernel_id), most=DIGEST_LINES)
    return [f"- {verdict}: {'; '.join(lines)}" for verdict, lines in lists.items()]


def ideas_of(bench: Bench, kernel: KernelRecord, variant_id: str) -> tuple[Idea, ...]:
    """What all searches of the kernel so far say to a variant, the most telling first."""
    return recall(bench.store, kernel.kernel_id).at(variant_id).ideas


def measured_blocks(bench: Bench, record: VariantRecord) -> list[str]:
    """What paid after this variant's own method, on any kernel of its side (host or GPU), the most
    promising first."""
    kernel = bench.evaluator.kernel(record.variant.kernel_id)
    language = kernel.loaded.spec.kernel.kernel_type
    known = Posteriors(learned_for(regraph_of(bench.store), language))
    own = known.regraph.name(record.method)
    after = (line for line in edges(known) if line.previous == own)
    lines = by_gain(offered(after, language))
    return [f"- {_step(line)}" for line in lines]


def _step(line: Line) -> str:
    return f"{line.method} after {line.previous}: {line.describe()}"


def _tried(tried: Tried) -> str:
    what = ", ".join(each for each in (tried.detail, changed(tried.candidate)) if each)
    if tried.ending is None:
        ended = "put aside" if tried.message else "not evaluated yet"
    else:
        ended = str(tried.ending)
    speedup = "" if tried.speedup is None else f", {tried.speedup:.3g}x the baseline"
    said = tried.message if tried.speedup is None else ""
    why = f": {shortened(said, LONGEST)}" if said else ""
    return f"{tried.method} ({shortened(what, LONGEST)}): {ended}{speedup}{why}"
