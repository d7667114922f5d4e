"""A scripted Messages API on loopback, which the real SDK talks to over HTTP."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

USAGE = {
    "input_tokens": 1000,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 100,
}


@dataclass(frozen=True)
class Says:
    """An answer, streamed in pieces. `breaks`: the connection ends before the answer does;
    `error`: or the stream ends with an error of this type."""

    text: str = ""
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    """tools with their arguments"""
    stop: str = ""
    usage: dict[str, int] = field(default_factory=lambda: dict(USAGE))
    breaks: bool = False
    error: str = ""


@dataclass(frozen=True)
class Refuses:
    """An HTTP status in place of an answer."""

    status: int
    kind: str = "api_error"
    retry_after: str = ""


Step = Says | Refuses | Callable[[dict[str, Any]], Says]
"""the last: says what the body of the call asks for"""


class MessagesApi(ThreadingHTTPServer):
    """Answers calls in the order of its script; the last step again and again. `asked` holds what
    was sent."""

    daemon_threads = True

    def __init__(self, script: Sequence[Step]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.script = list(script)
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    @property
    def url(self) -> str:
        """The base URL."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def next_step(self) -> Says | Refuses:
        """What the call that was just noted gets."""
        step = self.script[min(len(self.asked), len(self.script)) - 1]
        return step if isinstance(step, Says | Refuses) else step(self.asked[-1])


@contextmanager
def messages_api(*script: Step) -> Generator[MessagesApi]:
    """A server with this script."""
    with MessagesApi(script) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def candidates(*each: dict[str, Any]) -> str:
    """An answer with these candidates."""
    return json.dumps({"candidates": each})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: MessagesApi  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)
        self.server.headers.append({name.lower(): value for name, value in self.headers.items()})
        step = self.server.next_step()
        if isinstance(step, Refuses):
            self._refuse(step)
            return
        events = [
            f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in _events(body, step)
        ]
        self._send(200, "".join(events).encode(), "text/event-stream", cut=step.breaks)

    def _refuse(self, step: Refuses) -> None:
        error = {"type": step.kind, "message": f"scripted {step.status}"}
        told = json.dumps({"type": "error", "error": error}).encode()
        more = {"retry-after": step.retry_after} if step.retry_after else {}
        self._send(step.status, told, "application/json", more)

    def _send(
        self,
        status: int,
        body: bytes,
        kind: str,
        more: dict[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body) + 1000 * cut))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        if cut:
            self.close_connection = True


def _events(body: dict[str, Any], step: Says) -> Iterator[tuple[str, dict[str, Any]]]:
    def event(name: str, **fields: Any) -> tuple[str, dict[str, Any]]:
        return name, {"type": name, **fields}

    begun = {**step.usage, "output_tokens": 1}
    message: dict[str, Any] = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": begun,
    }
    yield event("message_start", message=message)
    for index, (start, deltas) in enumerate(_blocks(step)):
        yield event("content_block_start", index=index, content_block=start)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        if step.breaks:
            return
        yield event("content_block_stop", index=index)
    if step.error:
        yield event("error", error={"type": step.error, "message": "scripted"})
        return
    stop = step.stop or ("tool_use" if step.calls else "end_turn")
    usage = {"output_tokens": step.usage["output_tokens"]}
    yield event("message_delta", delta={"stop_reason": stop, "stop_sequence": None}, usage=usage)
    yield event("message_stop")


def _blocks(step: Says) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if step.text:
        half = len(step.text) // 2
        pieces = (step.text[:half], step.text[half:])
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        yield {"type": "text", "text": ""}, deltas
    for number, (name, arguments) in enumerate(step.calls):
        start: dict[str, Any] = {
            "type": "tool_use",
            "id": f"toolu_{number}",
            "name": name,
            "input": {},
        }
        yield start, [{"type": "input_json_delta", "partial_json": json.dumps(arguments)}]
