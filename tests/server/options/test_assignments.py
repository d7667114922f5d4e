from __future__ import annotations

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.search.settings import Settings
from kernelwright.server.options.assignments import settings_from


def test_every_setting_can_be_given_as_an_assignment() -> None:
    shown = Settings().model_dump()
    given = [f"{name}={value}" for name, value in shown.items()]
    assert settings_from({}, given) == Settings()


def test_assignments_go_over_flags_and_the_last_of_a_name_counts() -> None:
    given = ["policy=beam", "patience = 9", "beam_width=2", "beam_width=8", "ncu_every=none"]
    found = settings_from({"patience": 5, "seed": 3, "ncu_every": 4}, given)
    wanted = Settings(policy="beam", beam_width=8, patience=9, seed=3)
    assert found == wanted


def test_an_unknown_name_is_told_with_the_likeliest_and_all_others() -> None:
    with pytest.raises(SpecError) as raised:
        settings_from({}, ["c_put=0.5"])
    assert "c_put: unknown field; did you mean `c_puct`?" in str(raised.value)
    assert "widening_alpha" in str(raised.value)


def test_a_value_that_does_not_fit_is_told_with_what_does() -> None:
    with pytest.raises(SpecError, match="policy: did you mean `puct`"):
        settings_from({}, ["policy=puckt"])
    with pytest.raises(SpecError, match=r"c_puct: .*greater than or equal to 0"):
        settings_from({}, ["c_puct=-1"])


def test_what_assigns_nothing_is_refused() -> None:
    with pytest.raises(SpecError, match="assigns nothing"):
        settings_from({}, ["policy"])
