"""The one place where a brief is made: sections in their order, with their budgets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from ...evaluation.evidence.evidence import KnownFindings, known_findings
from ...search.planning.brief import Brief, SameFor, Section, section, tokens_of
from ...search.planning.planner import Question, without_held_out
from ...skills.catalogue import catalogue, read
from .contract import contract_lines, processor_line
from .evidence import bound_blocks, fired_skills, line_blocks, region_blocks
from .experience import digest_blocks, idea_blocks, ideas_of, measured_blocks, tried_blocks
from .sources import as_diff, source_blocks, told_beside, whole
from .standing import change_blocks, failure_blocks, lineage, standing_blocks

if TYPE_CHECKING:
    from ...evaluation.bench import Bench
    from ...runners.model import Variant
    from ...store.records import KernelRecord, VariantRecord

BUDGET: Final = {
    "instructions": 900,
    "contract": 1200,
    "skills": 2200,
    "baseline": 24_000,
    "rewrite": 24_000,
    "source": 24_000,
    "standing": 400,
    "failure": 900,
    "change": 1200,
    "bound": 1600,
    "lines": 1600,
    "regions": 900,
    "tried": 1200,
    "remembered": 600,
    "measured": 400,
}
"""tokens by section, rules of thumb: what is cut can be asked for. A source is whole or not there,
and 24,000 tokens are some 2,000 lines."""
MOST_PAGES: Final = 5
"""skills that fired and are told in full"""
PAGES: Final = 4_000
"""tokens of the pages on what was found on the baseline, and of further ones"""
STABLE, CHANGING = 6_000, 4_000
"""tokens that pages fill the stable sections, or the others, up to"""
FIRST_PAGE = 7_400
"""the same of the first page on the baseline"""


@cache
def instructions() -> str:
    """What is asked of whoever plans, and the forms of an answer."""
    place = files("kernelwright.search.planning").joinpath("instructions.md")
    return place.read_text(encoding="utf-8").rstrip("\n")


def brief_of(bench: Bench, variant_id: str, question: Question | None = None) -> Brief:
    """What a planner is told of a variant. `question`: of the search that asks, which knows what it
    tried itself. Nothing is built or run. Raises HandleUnknown."""
    record = bench.evaluator.variant(variant_id)
    kernel = bench.evaluator.kernel(record.variant.kernel_id)
    baseline = bench.evaluator.variant(kernel.baseline)
    known = known_findings(bench, kernel, variant_id)
    first = known if record == baseline else known_findings(bench, kernel, kernel.baseline)
    stable = _kept(_stable(kernel, baseline, fired_skills(first)))
    path = lineage(bench, record)
    above = told_beside([each.variant for each in path])
    rewrite = _kept(_of_rewrite(kernel, next(r for r in path if r.variant == above)))
    changing = _kept(
        (
            *_of_variant(bench, kernel, record, above),
            *_of_evidence(bench, kernel, variant_id, known),
            *_of_experience(bench, kernel, record, question),
        )
    )
    told = {*fired_skills(first)} if record == baseline else _told(stable, fired_skills(first))
    fired = [skill for skill in fired_skills(known) if skill not in told]
    pages = _pages("pages", "found here", fired, CHANGING - _tokens(changing))
    sections = (*stable, *rewrite, *changing, *_kept([pages]))
    return Brief(kernel_id=kernel.kernel_id, variant_id=variant_id, sections=sections)


def _stable(
    kernel: KernelRecord, baseline: VariantRecord, fired: Sequence[str]
) -> Iterator[Section | None]:
    """The same for every variant of a kernel. `fired`: pages on what was found on the baseline."""
    told = _kept(_of_kernel(kernel, baseline))
    yield from told
    pages = (_page(skill) for skill in fired[:1])
    least = min(FIRST_PAGE - _tokens(told), *(tokens_of(page) + 1 for page in pages), PAGES)
    room = max(STABLE - _tokens(told), least)
    yield _pages("usual_pages", "found on the baseline", fired, room, same_for="kernel")


def _of_kernel(kernel: KernelRecord, baseline: VariantRecord) -> Iterator[Section | None]:
    spec = without_held_out(kernel.spec)
    yield _section("instructions", "What is asked", [instructions()], same_for="kernel")
    machine = () if spec.kernel.language.on_gpu else (processor_line(),)
    yield _section(
        "contract",
        "Contract",
        [*contract_lines(spec), *machine],
        more=_inspect("kernel", kernel.kernel_id, "spec"),
        same_for="kernel",
    )
    if spec.kernel.language.on_gpu:
        pages = (page for page in catalogue() if not page.of_modules)
        lines = (f"- {page.id}: {page.first_sentence}" for page in pages)
        yield _section(
            "skills", "Pages that can be read", lines, more="inspect skill", same_for="kernel"
        )
    source, handle = baseline.variant.source, baseline.variant.variant_id
    title, code = f"Source of the baseline {handle}", whole(kernel.spec, source)
    yield _section("baseline", title, [code], more=_whole_source(baseline), same_for="kernel")


def _of_rewrite(kernel: KernelRecord, above: VariantRecord) -> Iterator[Section | None]:
    """The source that others are told beside, where it is not the baseline's."""
    if above.variant.variant_id != kernel.baseline:
        title, code = _source_of(above), whole(kernel.spec, above.variant.source)
        yield _section("rewrite", title, [code], more=_whole_source(above), same_for="lineage")


def _of_variant(
    bench: Bench, kernel: KernelRecord, record: VariantRecord, above: Variant
) -> Iterator[Section | None]:
    """`above`: whose source stands above, to tell this one's beside."""
    variant = record.variant
    source = source_blocks(kernel.spec, variant, above)
    yield _section("source", _source_of(record), source, more=_whole_source(record))
    yield _section("standing", "Where it stands", standing_blocks(bench, kernel, record))
    build = _inspect("variant", variant.variant_id, "build")
    yield _section("failure", "Why it failed", failure_blocks(bench, record), more=build)
    diff = _inspect("variant", variant.variant_id, "diff")
    told = as_diff(variant, above) if record.parent == above.variant_id else None
    change = change_blocks(bench, record, with_diff=told is None)
    yield _section("change", "What it changed", change, more=diff)


def _of_evidence(
    bench: Bench, kernel: KernelRecord, variant_id: str, known: KnownFindings
) -> Iterator[Section | None]:
    summary = f"ncu_summary of {variant_id}"
    bound = bound_blocks(bench, kernel, variant_id, known)
    yield _section("bound", "What bounds it", bound, more=summary)
    lines = line_blocks(bench, variant_id, known)
    yield _section("lines", "Where its time goes", lines, more="ptx_for_source_span")
    regions = region_blocks(known)
    yield _section("regions", "Structure of its PTX", regions, more=f"region_dag of {variant_id}")


def _of_experience(
    bench: Bench, kernel: KernelRecord, record: VariantRecord, question: Question | None
) -> Iterator[Section | None]:
    here = record.variant.variant_id
    if question is not None:
        more = _inspect("search", question.search_id, "history")
        yield _section("tried", "Tried from here", tried_blocks(question.tried), more=more)
    ideas = ideas_of(bench, kernel, here) if question is None else question.remembered
    memory = _inspect("memory", kernel.kernel_id, "ideas")
    blocks = [*digest_blocks(bench, kernel), *idea_blocks(ideas)]
    yield _section("remembered", "Remembered of this kernel", blocks, more=memory)
    paid = measured_blocks(bench, record)
    yield _section("measured", "What paid after this step, on any kernel", paid)


def _pages(
    name: str, where: str, fired: Sequence[str], room: int, *, same_for: SameFor = "variant"
) -> Section | None:
    """Whole pages on what fired, most pressing first, while there is room."""
    return section(
        name,
        f"How to mend what was {where}",
        [_page(skill) for skill in fired[:MOST_PAGES]],
        min(room, PAGES),
        more=f"inspect skill {', '.join(fired)}",
        apart="\n\n",
        same_for=same_for,
    )


def _told(stable: Sequence[Section], fired: Sequence[str]) -> set[str]:
    """The pages among stable sections."""
    left = next((each.left_out for each in stable if each.name == "usual_pages"), 0)
    return {*fired[: min(len(fired), MOST_PAGES) - left]}


def _page(skill: str) -> str:
    """Without its front matter."""
    return read(skill).split("---\n", 2)[-1].strip()


def _kept(found: Iterable[Section | None]) -> tuple[Section, ...]:
    return tuple(each for each in found if each is not None)


def _tokens(sections: Iterable[Section]) -> int:
    return sum(each.tokens for each in sections)


def _source_of(record: VariantRecord) -> str:
    return f"Source of {record.variant.variant_id}"


def _whole_source(record: VariantRecord) -> str:
    lines = len(record.variant.source.splitlines())
    return f"{lines} lines, {_inspect('variant', record.variant.variant_id, 'source')}"


def _section(
    name: str,
    title: str,
    blocks: Iterator[str] | Sequence[str],
    *,
    more: str = "",
    apart: str = "\n",
    same_for: SameFor = "variant",
) -> Section | None:
    return section(name, title, blocks, BUDGET[name], more=more, apart=apart, same_for=same_for)


def _inspect(what: str, handle: str, part: str) -> str:
    return f"inspect {what} {handle}, part {part}"
