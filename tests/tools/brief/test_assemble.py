"""What a planner is told of variants: from what the store knows, and nothing that is secret."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from kernels import DOES_NOT_BUILD, FASTER, WRONG, tiny_kernel, with_known_peaks
from typer.testing import CliRunner

from kernelwright.runners.loading.files import Roots, load_file
from kernelwright.runners.model import BuildOptions, Candidate, Ending
from kernelwright.search.planning.brief import Brief, Section
from kernelwright.search.session.session import SearchSession
from kernelwright.search.session.workbench import Workbench
from kernelwright.search.settings import Settings
from kernelwright.search.stored.records import NeedsCandidates, StepReport
from kernelwright.server import cli
from kernelwright.tools.brief.assemble import brief_of
from kernelwright.tools.compile_variant import CompileVariantArguments, compile_variant
from kernelwright.tools.inspect import InspectArguments, inspect_handle
from kernelwright.tools.search_step import SearchStepArguments, search_step

FASTER_FLAGS = Candidate(
    method="better flags", detail="all of them", options=BuildOptions.model_validate(FASTER)
)
BROKEN = Candidate(method="rewrite the loop", detail="counts j", source=DOES_NOT_BUILD)
WRONG_ONCE = Candidate(method="skip work", detail="one element", source=WRONG)
MOST_TOKENS = 8000
"""of the first brief of a kernel of 200 lines"""


@dataclass(frozen=True)
class Searched:
    """A search that a client answered once, and what came of each candidate."""

    bench: Workbench
    search_id: str
    kernel_id: str
    baseline: str
    steps: dict[str, StepReport]
    asked: NeedsCandidates
    """the question after that"""

    def brief(self, step: str) -> Brief:
        """Of the variant that a candidate made."""
        variant_id = self.steps[step].variant_id
        assert variant_id is not None
        return brief_of(self.bench, variant_id)


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Searched]:
    folder = tmp_path_factory.mktemp("brief")
    tiny_kernel(folder)
    with Workbench(with_known_peaks(folder / "out"), [folder]) as bench:
        kernel = bench.evaluator.open(load_file(folder / "spec.json", Roots([folder])))
        session = SearchSession.start(bench, kernel.kernel_id, Settings(budget_builds=20), "client")
        asked = session.step()
        assert isinstance(asked, NeedsCandidates)
        session.answer(asked.ticket, (FASTER_FLAGS, BROKEN, WRONG_ONCE))
        reports = [session.step() for _ in range(3)]
        steps = {each.detail: each for each in reports if isinstance(each, StepReport)}
        again = session.step()
        assert isinstance(again, NeedsCandidates)
        session.close()
        yield Searched(bench, session.search_id, kernel.kernel_id, kernel.baseline, steps, again)


def named(brief: Brief, name: str) -> Section:
    return next(each for each in brief.sections if each.name == name)


def test_a_baseline_has_instructions_contract_and_source_first(searched: Searched) -> None:
    brief = brief_of(searched.bench, searched.baseline)
    assert list(brief.ledger)[:4] == ["instructions", "contract", "baseline", "standing"]
    assert "`bump`, cpp" in named(brief, "contract").text
    assert "n: 1 to 65536" in named(brief, "contract").text
    assert re.search(r"- processor: .*\b\d+ cores?$", named(brief, "contract").text, re.M)
    assert "void bump(const float* x" in named(brief, "baseline").text
    assert "this is the baseline" in named(brief, "standing").text
    assert "flags -O1 -std=c++17" in named(brief, "standing").text


def test_held_out_workloads_are_in_no_brief(searched: Searched) -> None:
    ids = [s.variant_id for s in searched.steps.values() if s.variant_id]
    for variant_id in (searched.baseline, *ids):
        told = brief_of(searched.bench, variant_id).markdown()
        assert "main: n=8192" in told
        assert "unseen" not in told and "5001" not in told


def test_what_is_stable_is_the_same_for_every_variant(searched: Searched) -> None:
    first = brief_of(searched.bench, searched.baseline)
    other = searched.brief("counts j")
    assert first.part("kernel") == other.part("kernel")
    assert first.part("variant") != other.part("variant")


def test_what_does_not_build_is_told_with_the_compilers_words(searched: Searched) -> None:
    failure = named(searched.brief("counts j"), "failure").text
    assert "It ended as build_failed: correct what the compiler names" in failure
    assert "was not declared in this scope" in failure


def test_what_is_wrong_is_told_with_the_worst_index(searched: Searched) -> None:
    assert searched.steps["one element"].ending is Ending.wrong
    failure = named(searched.brief("one element"), "failure").text
    assert "gate is_right" in failure and "worst at [4567]" in failure


def test_what_was_measured_is_told_with_what_it_changed(searched: Searched) -> None:
    brief = searched.brief("all of them")
    assert "-O3 -march=native" in named(brief, "change").text
    assert "failure" not in brief.ledger
    assert "better_flags (" in named(brief, "standing").text


def test_a_question_tells_every_attempt_of_its_search_from_there_and_how_it_ended(
    searched: Searched,
) -> None:
    session = searched.bench.sessions.resume(searched.bench, searched.search_id)
    history = session.context(searched.baseline).history
    session.close()
    question = searched.asked.question.model_copy(update={"tried": history})
    told = named(brief_of(searched.bench, searched.baseline, question), "tried").text
    first, *_, last = told.splitlines()
    assert first.startswith("- skip_work (one element, source): wrong: ")
    assert last.startswith("- better_flags (all of them, -O3 -march=native -std=c++17): ")
    assert "x the baseline" in last
    assert len(told.splitlines()) == 3


def test_a_rewrites_source_is_the_same_text_for_it_and_what_comes_of_it(tmp_path: Path) -> None:
    tiny = tiny_kernel(tmp_path)
    lines = [f"static float times_{n}(float x) {{ return x * {n}.5f; }}\n" for n in range(150)]
    rewrite = "".join(lines) + tiny.source.read_text(encoding="utf-8")
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        opened = bench.evaluator.open(load_file(tmp_path / "spec.json", Roots([tmp_path])))
        kernel_id = opened.kernel_id
        base, briefs = "baseline", list[Brief]()
        for source in (rewrite, rewrite.replace("77.5f", "78.5f")):
            asked = CompileVariantArguments(kernel_id=kernel_id, base=base, source=source)
            base = compile_variant(bench, asked).variant_id
            briefs.append(brief_of(bench, base))
    first, child = briefs
    assert first.part("kernel") == child.part("kernel")
    assert first.part("lineage") == child.part("lineage") != ""
    assert first.part("lineage").count("static float times_") == len(lines)
    assert "source" not in first.ledger and child.ledger["source"] < 300


def test_the_first_brief_of_a_kernel_of_200_lines_is_short(tmp_path: Path) -> None:
    tiny = tiny_kernel(tmp_path)
    filler = "// what this does, in as many words as a line of a usual kernel has\n" * 190
    tiny.source.write_text(filler + tiny.source.read_text(encoding="utf-8"), encoding="utf-8")
    with Workbench(tmp_path / "out", [tmp_path]) as bench:
        kernel = bench.evaluator.open(load_file(tmp_path / "spec.json", Roots([tmp_path])))
        assert brief_of(bench, kernel.baseline).tokens < MOST_TOKENS


def test_inspect_tells_a_brief_as_text_and_by_section(searched: Searched) -> None:
    def part(name: str) -> InspectArguments:
        return InspectArguments(what="variant", id=searched.baseline, part=name)

    brief = brief_of(searched.bench, searched.baseline)
    assert inspect_handle(searched.bench, part("brief")).text == brief.markdown()
    entries = inspect_handle(searched.bench, part("brief_sections")).entries
    assert entries is not None
    assert {each["name"]: each["tokens"] for each in entries} == brief.ledger


def test_show_prints_the_same_brief_for_people_and_programs(searched: Searched) -> None:
    def shown(*words: str) -> str:
        found = CliRunner().invoke(cli.app, ["show", str(searched.bench.outdir), "bump", *words])
        assert found.exit_code == 0, found.output
        return found.output

    brief = brief_of(searched.bench, searched.baseline)
    assert shown("--brief", "baseline") == brief.markdown() + "\n"
    assert json.loads(shown("--brief", searched.baseline[:8], "--json")) == brief.model_dump(
        mode="json"
    )


def test_a_client_is_told_what_its_reply_has_no_field_for(searched: Searched) -> None:
    with searched.bench.sessions.lent(
        searched.bench.sessions.resume(searched.bench, searched.search_id)
    ):
        pass
    reply = search_step(searched.bench, SearchStepArguments(search_id=searched.search_id))
    needed = reply.needs_candidates
    assert needed is not None and needed.brief is not None
    assert needed.brief.startswith("## Where it stands")
    assert "void bump" not in needed.brief
    assert set(needed.brief_more) == {"instructions", "contract", "baseline"}
    assert len(reply.model_dump_json()) < 25_000
