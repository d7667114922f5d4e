"""Tokens: shown once, kept as digests, refused from the moment they are revoked."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.runners.errors import KernelwrightError, SpecError
from kernelwright.server.http.tokens import FILE, PREFIX, Tokens, drawn, holder_of


@pytest.fixture
def tokens(tmp_path: Path) -> Tokens:
    return Tokens(tmp_path / "state")


def test_a_token_is_known_by_itself_and_by_nothing_that_is_kept_of_it(tokens: Tokens) -> None:
    token = tokens.make("laptop", "work")
    (kept,) = tokens.kept()
    assert token.startswith(PREFIX) and (kept.name, kept.scope) == ("laptop", "work")
    assert holder_of(token, tokens.kept()) == kept
    written = (tokens.outdir / FILE).read_text("utf-8")
    assert token not in written and token.removeprefix(PREFIX) not in written
    for wrong in (kept.digest, token[:-1], token + "a", "", PREFIX, token.upper()):
        assert holder_of(wrong, tokens.kept()) is None


def test_nobody_else_may_read_the_file(tokens: Tokens) -> None:
    tokens.make("laptop", "read")
    assert (tokens.outdir / FILE).stat().st_mode & 0o777 == 0o600


def test_a_revoked_token_is_nobodys_and_the_others_stay(tokens: Tokens) -> None:
    first, second = tokens.make("laptop", "work"), tokens.make("ci", "read")
    tokens.revoke("laptop")
    assert holder_of(first, tokens.kept()) is None
    assert [each.name for each in tokens.kept()] == ["ci"] and holder_of(second, tokens.kept())
    with pytest.raises(SpecError, match=r"no token `laptop`\n.*ci"):
        tokens.revoke("laptop")


def test_two_tokens_do_not_share_a_name(tokens: Tokens) -> None:
    tokens.make("laptop", "work")
    with pytest.raises(SpecError, match="revoke laptop"):
        tokens.make("laptop", "read")


@pytest.mark.parametrize("name", ["", "-x", "A", "a b", "a/../b", "a" * 41, "ä", "a\n"])
def test_a_name_is_one_that_can_stand_in_a_line(tokens: Tokens, name: str) -> None:
    with pytest.raises(SpecError, match="cannot name a token"):
        tokens.make(name, "work")
    assert tokens.kept() == ()


@pytest.mark.parametrize("content", ["{", "[1]", '[{"name": "x"}]', '{"a": 1}', "[[1, 2, 3, 4]]"])
def test_a_damaged_file_lets_nobody_in_and_is_told(tokens: Tokens, content: str) -> None:
    tokens.outdir.mkdir()
    (tokens.outdir / FILE).write_text(content)
    with pytest.raises(KernelwrightError, match="make the tokens anew"):
        tokens.kept()


def test_a_scope_that_a_later_version_knows_may_only_read_here(tokens: Tokens) -> None:
    tokens.make("laptop", "work")
    path = tokens.outdir / FILE
    path.write_text(path.read_text("utf-8").replace('"work"', '"admin"'))
    assert [each.scope for each in tokens.kept()] == ["read"]


def test_tokens_are_drawn_and_none_is_like_another() -> None:
    assert len({drawn("a", "work")[0] for _ in range(64)}) == 64
