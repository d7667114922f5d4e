"""Pages on PyTorch: both forms of every example give the same, and numbers are those measured."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernelwright.analysis.modules.opportunities import SKILLS
from kernelwright.skills.catalogue import Skill, catalogue

RESULT = Path(__file__).parents[2] / "benchmarks/results/torch_skills.json"
MODULE_PAGES = [skill for skill in catalogue() if skill.of_modules]
PAGES = pytest.mark.parametrize("skill", MODULE_PAGES, ids=lambda skill: skill.id)
needs_torch = pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="no torch here")


@pytest.fixture
def skills(script: Callable[[str], Any]) -> Any:
    return script("torch_skills")


@needs_torch
@PAGES
def test_a_page_has_an_example_and_shows_what_was_measured_of_it(skill: Skill, skills: Any) -> None:
    assert list(skills.forms_of(skill))
    assert skills.filled(skill, json.loads(RESULT.read_text("utf-8"))) == skill.text()


@needs_torch
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch's own modules, as they load
@PAGES
def test_both_forms_of_an_example_agree_within_its_class(skill: Skill, skills: Any) -> None:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.no_grad(), torch.compiler.set_stance("force_eager"):
            for forms in skills.forms_of(skill):
                space = forms.made()
                if "cpu" in forms.on:
                    given = space["inputs"]("cpu")
                    skills.distance(forms, space["after"](*given), space["before"](*given))
    finally:
        torch.set_num_threads(threads)


@needs_torch
def test_forms_that_differ_by_more_than_their_class_are_refused(skills: Any) -> None:
    import torch

    forms = skills.Forms("page", "name", ("cpu",), "fp32 rounding", "")
    with pytest.raises(ValueError, match="apart, not fp32 rounding"):
        skills.distance(forms, torch.ones(4), torch.ones(4) * 1.001)


@needs_torch
def test_an_example_that_was_not_measured_on_a_device_is_owed(skills: Any) -> None:
    forms = skills.Forms("page", "name", ("cpu", "cuda"), "bit-equal", "")
    assert skills.section(forms, {}).splitlines() == [
        "- name: owed on a CPU, not measured there yet.",
        "- name: owed on a GPU, not measured there yet.",
    ]


def test_every_page_is_that_of_an_opportunity() -> None:
    assert {skill.id for skill in MODULE_PAGES} == set(SKILLS.values())
