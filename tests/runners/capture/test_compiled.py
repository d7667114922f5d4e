"""Captures side by side that share a cache compile a kernel once between them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from capture_forks import H100, contract_of
from captures import HEADER, KERNEL, MISSING, XYN

from kernelwright.runners.capture import CaptureRequest
from kernelwright.runners.capture.compiled import Turn

SIDE_BY_SIDE = """
import os
from pathlib import Path
from kernelwright.runners.capture import CaptureRequest, capture
from kernelwright.runners.toolchains.triton_jit import preload

preload()
from triton import knobs

def work():
    found = []
    knobs.compilation.listener = lambda *, cache_hit, **_: found.append(cache_hit)
    result = capture(CaptureRequest.model_validate_json(Path("request.json").read_bytes()))
    assert not result.refusal, result.refusal
    Path(f"{os.getpid()}.found").write_text("\\n".join(map(str, found)))

for _ in range(4):
    if os.fork() == 0:
        work()
        os._exit(0)
for _ in range(4):
    assert os.wait()[1] == 0
"""


@pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")
def test_equal_specialisations_are_compiled_once(tmp_path: Path) -> None:
    source = (HEADER + KERNEL).replace("from doubling import doubled\n", "")
    (tmp_path / "source.py").write_text(source, encoding="utf-8")
    request = CaptureRequest(
        source_path="source.py",
        entry="run",
        contract=contract_of(XYN),  # pyright: ignore[reportArgumentType]
        symbols={},
        label="main",
        device=H100,
        launch={"grid": ["cdiv(n, BLOCK)"], "constexprs": {"BLOCK": 128}},
    )
    (tmp_path / "request.json").write_text(request.model_dump_json(), encoding="utf-8")
    own = {"OMP_NUM_THREADS": "1", "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run(
        [sys.executable, "-c", SIDE_BY_SIDE], cwd=tmp_path, env={**os.environ, **own}, check=True
    )
    found = [path.read_text(encoding="utf-8") for path in tmp_path.glob("*.found")]
    assert sorted(found) == ["False", "True", "True", "True"]


def in_turn(path: Path, act: str) -> subprocess.Popen[bytes]:
    """A process that takes its turn and then acts; it says so on stdout."""
    text = f"""
import sys
from kernelwright.runners.capture.compiled import Turn
turn = Turn()
print("here", flush=True)
turn.take({str(path)!r})
print("taken", flush=True)
{act}
"""
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", text], stdout=pipe, stdin=pipe)


def said(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def test_a_turn_comes_to_the_next_when_it_is_given_back_and_when_its_holder_dies(
    tmp_path: Path,
) -> None:
    turn, path = Turn(), tmp_path / "lock"
    turn.take(str(path))
    turn.take(str(path))  # ours already
    with in_turn(path, "sys.stdin.read()") as other:  # holds it until it is killed
        assert said(other) == b"here"
        turn.give_back()
        assert said(other) == b"taken"
        with in_turn(path, "") as third:
            assert said(third) == b"here"
            other.kill()
            assert said(third) == b"taken"


def test_who_waits_for_a_turn_holds_no_other(tmp_path: Path) -> None:
    mine, theirs = str(tmp_path / "mine"), str(tmp_path / "theirs")
    turn = Turn()
    turn.take(mine)
    with in_turn(tmp_path / "theirs", f"turn.take({mine!r}); print('both', flush=True)") as other:
        assert (said(other), said(other)) == (b"here", b"taken")
        turn.take(theirs)
        assert said(other) == b"both"
    turn.give_back()
