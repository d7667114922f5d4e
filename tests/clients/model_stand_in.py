"""A model that follows the journey: the Messages API on loopback, for a client that wants a model.

It asks for one tool at a time and reads the result as a model would be shown it. No network, no
key, nothing is generated.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

from journey import Report, journey

PREFIX = "mcp__kernelwright__"
Block = dict[str, Any]


class Model:
    """Answers each turn with the next call of the journey, and with text after the last."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.failure: str | None = None
        self.finished = False
        self._calls = journey(report)
        self._asked: Block | None = None
        self._lock = threading.Lock()

    def turn(self, request: dict[str, Any]) -> Block:
        """The block that answers a request; the same one again where the client asks again."""
        names = [str(tool.get("name")) for tool in request.get("tools", ())]
        if not names or self.failure or self.finished:
            return text("done")
        self.report.tools = max(self.report.tools, sum(n.startswith(PREFIX) for n in names))
        with self._lock:
            try:
                return self._next(request["messages"])
            except StopIteration:
                self.finished = True
                return text("done")
            except (RuntimeError, ValueError, KeyError) as error:
                self.failure = f"{type(error).__name__}: {error}"
                return text("failed")

    def _next(self, messages: list[dict[str, Any]]) -> Block:
        if self._asked is None:
            tool, arguments = next(self._calls)
        else:
            result = result_of(messages, self._asked["id"])
            if result is None:
                return self._asked
            shown = shown_of(result)
            if result.get("is_error"):
                raise RuntimeError(shown[:2000])
            tool, arguments = self._calls.send(json.loads(shown))
        number = 0 if self._asked is None else int(self._asked["id"].rpartition("_")[2]) + 1
        identity = f"toolu_{number:04d}"
        self._asked = {"type": "tool_use", "id": identity, "name": PREFIX + tool} | {
            "input": arguments
        }
        return self._asked


def result_of(messages: list[dict[str, Any]], identity: str) -> Block | None:
    """The result of that call."""
    parts = (
        part
        for message in messages
        if isinstance(message["content"], list)
        for part in cast("list[Block]", message["content"])
    )
    return next((p for p in parts if p.get("tool_use_id") == identity), None)


def shown_of(result: Block) -> str:
    """The text of a result, as the model is shown it."""
    content = result["content"]
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in cast("list[Block]", content))


def text(words: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": words}


def message(block: Block, model: str) -> dict[str, Any]:
    """A whole answer of the API."""
    reason = "tool_use" if block["type"] == "tool_use" else "end_turn"
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {
        "id": f"msg_{block.get('id', 'last')}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [block],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": usage,
    }


def events(block: Block, model: str) -> str:
    """The same answer as a stream of server-sent events."""
    whole = message(block, model)
    if block["type"] == "tool_use":
        start: Block = block | {"input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        start, delta = text(""), {"type": "text_delta", "text": block["text"]}
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    told: list[dict[str, Any]] = [
        {"type": "message_start", "message": whole | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in told)


@contextmanager
def serving(model: Model) -> Generator[str]:
    """The API's URL while it answers."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

        def do_GET(self) -> None:
            self._send(json.dumps({"data": []}))

        def do_HEAD(self) -> None:
            self._send("")

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
            if "count_tokens" in self.path:
                self._send(json.dumps({"input_tokens": 1}))
            elif "messages" not in self.path:
                self._send("{}")
            else:
                block, name = model.turn(request), str(request.get("model"))
                if request.get("stream"):
                    self._send(events(block, name), "text/event-stream")
                else:
                    self._send(json.dumps(message(block, name)))

        def _send(self, body: str, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
