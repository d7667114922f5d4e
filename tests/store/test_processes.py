"""The store, when several processes share its file or one of them is killed."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, cast

import pytest
from stores import put

from kernelwright.runners.errors import StoreError
from kernelwright.store.store import Store


class Child:
    """A Python process that runs `code` with `path` and `store` at hand, line by line."""

    def __init__(self, path: Path, code: str) -> None:
        head = (
            "import sys; from pathlib import Path\n"
            "from kernelwright.store.store import Store\n"
            f"path = Path({str(path)!r})\n"
            "def say(*words): print(*words, flush=True)\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-c", head + code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines = cast(IO[str], self.process.stdout)

    def hear(self) -> str:
        return self.lines.readline().strip()

    def go(self) -> None:
        stdin = cast(IO[str], self.process.stdin)
        stdin.write("go\n")
        stdin.flush()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


COUNT_TO_50 = """
with Store.open(path) as store:
    say("ready"); sys.stdin.readline()
    for _ in range(50):
        with store.transaction() as writer:
            writer.update("ledger", "builds", lambda v: {"n": (v or {"n": 0})["n"] + 1})
say("done")
"""

OPEN_NEW_FILES = """
for n in range(40):
    say("ready"); sys.stdin.readline()
    with Store.open(path.with_name(f"{n}.sqlite")) as store, store.transaction() as writer:
        writer.append("transitions", {})
say("done")
"""


@pytest.fixture
def four(path: Path) -> Iterator[Callable[[str], list[Child]]]:
    children: list[Child] = []

    def start(code: str) -> list[Child]:
        children.extend(Child(path, code) for _ in range(4))
        return children

    yield start
    for child in children:
        child.__exit__()


def test_four_processes_lose_no_update(path: Path, four: Callable[[str], list[Child]]) -> None:
    children = four(COUNT_TO_50)
    assert [c.hear() for c in children] == ["ready"] * 4
    for child in children:
        child.go()
    assert [c.hear() for c in children] == ["done"] * 4
    with Store.open(path) as store:
        assert store.get("ledger", "builds") == {"n": 200}


def test_four_processes_may_make_a_new_file_at_once(
    path: Path, four: Callable[[str], list[Child]]
) -> None:
    children = four(OPEN_NEW_FILES)
    for _ in range(40):
        assert [c.hear() for c in children] == ["ready"] * 4
        for child in children:
            child.go()
    assert [c.hear() for c in children] == ["done"] * 4
    for n in range(40):
        with Store.open(path.with_name(f"{n}.sqlite")) as store:
            assert store.count("transitions") == 4


WRITE_FOREVER = """
from itertools import count
with Store.open(path) as store:
    for n in count():
        with store.transaction() as writer:
            writer.add("nodes", f"%s-{n}", {"text": "x" * 5000})
            writer.update("ledger", "nodes", lambda v: {"n": (v or {"n": 0})["n"] + 1})
            writer.append("transitions", {"to": n})
        say(f"%s-{n}")
"""


def test_a_killed_process_loses_nothing_that_it_acknowledged(path: Path) -> None:
    chance = random.Random(7)
    told: set[str] = set()
    for round_ in range(5):
        with Child(path, WRITE_FOREVER.replace("%s", str(round_))) as child:
            told |= {child.hear() for _ in range(chance.randint(1, 300))}
            child.process.kill()
            told |= {line.strip() for line in child.lines if line.endswith("\n")}
            child.process.wait()
        with Store.open(path) as store:
            kept = {key for key, _ in store.items("nodes")}
            assert told <= kept
            assert len(kept - told) <= round_ + 1  # at most one a round was not told of yet
            assert store.get("ledger", "nodes") == {"n": len(kept)}
            assert store.count("transitions") == len(kept)


HOLD = """
with Store.open(path) as store:
    with store.transaction() as writer:
        writer.put("ledger", "builds", {"n": 1})
        say("held"); sys.stdin.readline()
say("done")
"""


def test_a_locked_file_names_the_process_that_holds_it(path: Path) -> None:
    with Store.open(path, busy_seconds=0.0) as store, Child(path, HOLD) as child:
        assert child.hear() == "held"
        with pytest.raises(StoreError, match="locked") as caught:
            put(store, "ledger", "builds", {"n": 2})
        if Path("/proc/locks").exists():
            assert f"process {child.process.pid}" in str(caught.value)
        assert store.get("ledger", "builds") is None, "a reader does not wait for a writer"
        child.go()
        assert child.hear() == "done"
        put(store, "ledger", "builds", {"n": 2})


def test_a_writer_waits_for_the_process_that_holds_the_file(store: Store, path: Path) -> None:
    with Child(path, HOLD) as child, ThreadPoolExecutor(1) as pool:
        assert child.hear() == "held"
        waiting = pool.submit(put, store, "ledger", "builds", {"n": 2})
        assert not waiting.done()
        child.go()
        waiting.result(timeout=60)
    assert store.get("ledger", "builds") == {"n": 2}
