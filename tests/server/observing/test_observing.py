"""What an operator can read afterwards: the audit, records of the log, spans."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import anyio
import pytest
from any_text import CHARACTERS
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from server_talk import Era, Place, ask

from kernelwright.server.observing import audit
from kernelwright.server.observing.audit import FILE, LEFT_OUT, Audit, told

TOKEN = "kw_" + "a" * 43
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(CHARACTERS),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(CHARACTERS), inner),
    max_leaves=20,
)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("era", ["auto", "legacy"])
def test_every_call_of_a_session_is_one_line_with_who_asked_and_how_it_ended(
    era: Era, place: Place
) -> None:
    before = len(lines(place.outdir / FILE)) if (place.outdir / FILE).exists() else 0

    async def body(client: Client) -> None:
        await client.call_tool("inspect", {"what": "kernel", "id": place.kernel_id})
        await client.call_tool("inspect", {"what": "kernel", "ident": "?"})
        await client.call_tool("no_such_tool", {"api_key": "sk-ant-0123456789abcdef"})
        await client.read_resource("kernelwright://kernels")
        await client.list_tools()

    ask(place, body, era)
    found = lines(place.outdir / FILE)[before:]
    assert [(each["method"], each["what"], each["ended"]) for each in found] == [
        ("tools/call", "inspect", "done"),
        ("tools/call", "inspect", "refused"),
        ("tools/call", "no_such_tool", "refused"),
        ("resources/read", "kernelwright://kernels", "done"),
    ]
    for each in found:
        assert each["seconds"] >= 0 and each["pid"] == os.getpid() and each["client"]
    assert found[0]["arguments"] == {"what": "kernel", "id": place.kernel_id}
    assert "ident" in found[1]["error"]
    assert found[2]["arguments"] == {"api_key": LEFT_OUT}
    assert (place.outdir / FILE).stat().st_mode & 0o777 == 0o600


def test_long_texts_stand_as_their_digest_and_secrets_not_at_all() -> None:
    source = "x" * 5000
    kept = told({"source": source, "token": "hush", "note": f"with {TOKEN}", "n": 3})
    digest = hashlib.sha256(source.encode()).hexdigest()
    assert kept == {
        "source": {"sha256": digest, "characters": 5000},
        "token": LEFT_OUT,
        "note": f"with {LEFT_OUT}",
        "n": 3,
    }
    assert source[:200] not in json.dumps(kept)


@given(JSON)
def test_whatever_was_asked_is_kept_in_few_characters(asked: object) -> None:
    assert len(json.dumps(told(asked))) <= audit.LONGEST_ARGUMENTS


def test_a_full_file_is_turned_over_and_the_oldest_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(audit, "LARGEST", 400)
    writers = [Audit(tmp_path), Audit(tmp_path)]  # as two servers of one folder
    for number in range(100):
        writers[number % 2].write({"number": number, "filled": "x" * 80})
    kept = sorted(path.name for path in tmp_path.iterdir())
    assert kept == [*(f"audit.{n}.jsonl" for n in range(1, audit.KEPT + 1)), FILE]
    assert all(path.stat().st_size <= 400 for path in tmp_path.iterdir())
    oldest_first = [*(tmp_path / name for name in reversed(kept[:-1])), tmp_path / FILE]
    numbers = [line["number"] for path in oldest_first for line in lines(path)]
    assert numbers == list(range(numbers[0], 100))


def test_a_disk_that_takes_no_line_ends_no_call(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("in the way", encoding="utf-8")
    Audit(tmp_path / "state").write({"at": "now"})


@contextmanager
def collector() -> Generator[tuple[str, list[bytes]]]:
    """Takes in what an exporter of OpenTelemetry sends; its address."""
    taken: list[bytes] = []

    class Taking(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            taken.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Taking)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", taken
    finally:
        server.shutdown()
        server.server_close()


def session(outdir: Path, log: Path, **environment: str) -> None:
    """A client that starts a server of its own, asks it for the kernels, and goes."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kernelwright.server", "serve", "--outdir", str(outdir)],
        env={**os.environ, **environment},
    )

    async def body() -> None:
        with log.open("w", encoding="utf-8") as said:
            async with Client(stdio_client(parameters, errlog=said)) as client:
                result = await client.call_tool("inspect", {"what": "kernels"})
                assert not result.is_error

    anyio.run(body)


def test_a_session_with_an_exporter_sends_spans_and_records_in_json(
    tmp_path: Path, place: Place
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http")
    with collector() as (address, taken):
        session(
            place.outdir,
            tmp_path / "log",
            OTEL_EXPORTER_OTLP_ENDPOINT=address,
            OTEL_BSP_SCHEDULE_DELAY="50",
            KERNELWRIGHT_LOG="json",
            KERNELWRIGHT_LOG_LEVEL="INFO",
        )
    assert any(b"tools/call inspect" in each and b"kernelwright" in each for each in taken)
    (record,) = [r for r in lines(tmp_path / "log") if r["logger"] == "kernelwright.calls"]
    assert record["call"]["what"] == "inspect" and record["call"]["ended"] == "done"


def test_without_an_exporter_nothing_of_it_is_loaded() -> None:
    asked = (
        "import sys; from kernelwright.server.observing.spans import begin_spans; begin_spans()(); "
        "print([m for m in sys.modules if m.startswith('opentelemetry.sdk')])"
    )
    clean = {k: v for k, v in os.environ.items() if not k.startswith("OTEL_")}
    said = subprocess.run(
        [sys.executable, "-c", asked], env=clean, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "[]"
