"""What a newcomer left open in an inferred spec is told as a question, not as a wrong type."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.runners.loading.domains import with_domains
from kernelwright.runners.loading.files import Roots, draft_of_file, parse_spec
from kernelwright.runners.loading.left_open import left_open

BLUR = """
#include <algorithm>
void blur(const unsigned char* img, unsigned char* out, int h, int w) {
  for (int y = 0; y < h; ++y)
    for (int x = 0; x < w; ++x) out[y * w + x] = img[std::min(y + 1, h - 1) * w + x];
}
"""


def test_every_question_of_an_inferred_spec_is_asked_again_until_it_is_answered(
    tmp_path: Path,
) -> None:
    (tmp_path / "blur.cpp").write_text(BLUR, encoding="utf-8")
    spec = with_domains(draft_of_file(tmp_path / "blur.cpp", Roots([tmp_path]), None)).data
    with pytest.raises(SpecError) as refused:
        parse_spec(spec)
    assert refused.value.message.splitlines() == [
        "the spec is not filled in yet, `?` stands at:",
        "  io.arguments.img.shape: its sizes, as numbers or expressions over symbols",
        "  workloads.default.symbols.h: the value of `h` in a call that really occurs",
        "  workloads.default.symbols.w: the value of `w` in a call that really occurs",
    ]
    answered = json.loads(json.dumps(spec).replace('["?"]', '["h", "w"]').replace('"?"', "64"))
    assert parse_spec(answered).name == "blur"


def test_a_question_mark_within_a_text_is_none() -> None:
    assert left_open({"kernel": {"source_code": "a ? b : c", "defines": {"X": "1 ? 2 : 3"}}}) == []


def test_a_place_that_is_nobody_s_question_is_named_all_the_same() -> None:
    assert left_open({"tolerance": [{"floor": "?"}]}) == ["tolerance.floor: what belongs there"]
