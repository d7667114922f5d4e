"""Pages of expert knowledge as a client reads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.analysis.rules.model import Rule
from kernelwright.analysis.rules.table import RULES
from kernelwright.runners.errors import HandleUnknown
from kernelwright.search.session.workbench import Workbench
from kernelwright.skills.catalogue import catalogue, read
from kernelwright.tools.inspect import InspectArguments, Inspected, inspect_handle


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Workbench]:
    with Workbench(tmp_path / "out", [tmp_path]) as opened:
        yield opened


def skill(bench: Workbench, skill_id: str | None = None) -> Inspected:
    return inspect_handle(bench, InspectArguments(what="skill", id=skill_id))


def test_without_an_id_every_page_is_a_line(bench: Workbench) -> None:
    told = skill(bench)
    assert told.text is not None and told.next_offset is None
    assert [line.partition(":")[0] for line in told.text.splitlines()] == [
        each.id for each in catalogue()
    ]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_the_page_that_a_finding_names_is_read_whole(bench: Workbench, rule: Rule) -> None:
    told = skill(bench, rule.skill)
    assert told.text == read(rule.skill) and told.next_offset is None


def test_a_page_that_is_not_there_is_answered_with_those_alike(bench: Workbench) -> None:
    with pytest.raises(HandleUnknown, match="poor-coalescing") as refused:
        skill(bench, "pour-coalescing")
    assert "inspect what skill" in refused.value.next_step
    with pytest.raises(HandleUnknown):
        skill(bench, "../catalogue")
