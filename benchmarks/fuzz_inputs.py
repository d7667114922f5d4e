"""Lines that a client could send, seeded: calls drawn from the tools' schemas, and hostile ones.

A line is text of one request; where it carries an id that can be read, its answer must carry the
same one.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]
TEXTS = (
    "",
    " ",
    "incumbent",
    "baseline",
    "spec.json",
    "matmul.cpp",
    "reference.py",
    "../../../../etc/passwd",
    "/proc/self/mem",
    "nowhere.json",
    "a" * 3000,
    "x\x00y",
    "line\nline\r\n\tline",
    "\u202e\u200b\U0001f9e8 ñ 字",
    "'; drop table jobs; --",
    "%s%n{0}${HOME}$(id)`id`",
    "j1",
    "j999999999999",
    "v" + "0" * 12,
    "rdeadbeef",
    "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n",
    '{"a": [1, {"b": null}]}',
    "[" * 500,
    "NaN",
    "-1",
)
NUMBERS = (0, 1, -1, 2, 3, 0.5, 45, 46, 1000, 2**31, -(2**63), 2**64, 1e308, 5e-324)
METHODS = (
    "tools/list",
    "resources/list",
    "resources/templates/list",
    "prompts/list",
    "ping",
    "no/such/method",
    "",
    "tools/call",
    "resources/read",
    "prompts/get",
    "completion/complete",
    "server/discover",
    "resources/subscribe",
)
URIS = (
    "kernelwright://host",
    "kernelwright://kernel/{kernel_id}",
    "kernelwright://variant/{variant_id}/source",
    "kernelwright://variant/../../etc/passwd",
    "file:///etc/passwd",
    "no uri at all",
    "kernelwright://" + "a/" * 500,
    "",
)
RAW = {
    "half_of_a_surrogate_pair": '"\\ud800"',
    "nesting_of_200": "[" * 200 + "]" * 200,
    "objects_200_deep": '{"a":' * 200 + "1" + "}" * 200,
    "integer_of_5000_digits": "7" * 5000,
    "minus_5000_digits": "-" + "7" * 5000,
    "number_out_of_range": "1e999",
    "not_a_number": "NaN",
    "infinity": "-Infinity",
    "long_text": '"' + "b" * 200_000 + '"',
    "escaped_nul": '"\\u0000"',
    "whole_pair": '"\\ud83e\\udde8"',
}
"""values as they are written in JSON, or nearly"""
STARTS_WORK = (
    *("open_kernel", "search_step", "analyze_module", "compile_variant", "export_variant"),
    *("record_program", "verify_program"),
)
"""what may build for seconds: drawn more seldom, so that a run stays short"""


@dataclass(frozen=True)
class Line:
    """What is sent, and what is known of it."""

    kind: str
    text: str
    identity: int | None
    """the id that the answer must carry; None: one that carries none"""


class Drawn:
    """Lines one after the other; `known` are values that mean something to this server."""

    def __init__(self, seed: int, tools: dict[str, Schema], known: dict[str, str]) -> None:
        self.random = random.Random(seed)
        self.tools, self.known = tools, known
        self._number = 1000
        self._kinds: tuple[tuple[int, Callable[[], Line]], ...] = (
            (8, self.call_by_schema),
            (4, self.call_with_wrong_types),
            (2, self.call_of_unknown),
            (3, self.raw_argument),
            (3, self.other_method),
            (2, self.broken_line),
            (1, self.broken_envelope),
        )

    def line(self) -> Line:
        """The next one."""
        weights, kinds = zip(*self._kinds, strict=True)
        return self.random.choices(kinds, weights)[0]()

    def call_by_schema(self) -> Line:
        """A call that fits its schema, or would, but for its values."""
        name = self._tool()
        return self._call("by_schema", name, json.dumps(self._object(self.tools[name], 0.5)))

    def call_with_wrong_types(self) -> Line:
        """Right names, any values."""
        name = self._tool()
        fields = list(self.tools[name]["properties"])
        chosen = self.random.sample(fields, self.random.randint(0, len(fields)))
        given = {field: self._anything(2) for field in chosen}
        return self._call("wrong_types", name, json.dumps(given))

    def call_of_unknown(self) -> Line:
        """A tool or a field that is not."""
        name = self.random.choice((*self.tools, "no_tool", "", "Inspect", *TEXTS[-6:]))
        given = {self.random.choice(TEXTS): self._anything(1), "what": "host"}
        return self._call("unknown_names", name, json.dumps(given))

    def raw_argument(self) -> Line:
        """A value that parsers stumble over, somewhere in the arguments."""
        name, (what, raw) = self._tool(), self.random.choice(list(RAW.items()))
        field = self.random.choice([*self.tools[name]["properties"], "unknown"])
        return self._call(f"raw_{what}", name, f"{{{json.dumps(field)}: {raw}}}")

    def other_method(self) -> Line:
        """Another method, with parameters that may not be its own."""
        method = self.random.choice(METHODS)
        uri = self.random.choice(URIS).format(**self.known)
        params = self.random.choice(
            (
                {},
                {"uri": uri},
                {"name": self.random.choice(("optimize", "explain_bottleneck", "none"))},
                {"name": "optimize", "arguments": {"path": self.random.choice(TEXTS)}},
                {"cursor": self.random.choice(TEXTS)},
                {"uri": self._anything(1), "name": self._anything(1)},
            )
        )
        return self._request("other_method", method, json.dumps(params))

    def broken_line(self) -> Line:
        """A request cut short, or no JSON at all; its answer can carry no id."""
        whole = self._call("broken", "inspect", '{"what": "host"}').text
        cut = whole[: self.random.randint(1, len(whole) - 2)]
        text = self.random.choice((cut, "hello?", "{]", '{"id": }', "[1, 2]", "3", "null"))
        return Line("broken_line", text, None)

    def broken_envelope(self) -> Line:
        """JSON that is no request: a list for parameters, an odd version or method."""
        number = self._next()
        odd: Schema = self.random.choice(
            (
                {"params": [1]},
                {"params": "text"},
                {"method": 5},
                {"method": None},
                {"jsonrpc": "1.0"},
                {"method": {"a": 1}},
            )
        )
        whole: Schema = {"jsonrpc": "2.0", "id": number, "method": "tools/list", "params": {}}
        return Line("broken_envelope", json.dumps(whole | odd), number)

    def _tool(self) -> str:
        weights = [1 if name in STARTS_WORK else 4 for name in self.tools]
        return self.random.choices(list(self.tools), weights)[0]

    def _call(self, kind: str, name: str, arguments: str) -> Line:
        params = f'{{"name": {json.dumps(name)}, "arguments": {arguments}}}'
        return self._request(kind, "tools/call", params)

    def _request(self, kind: str, method: str, params: str) -> Line:
        number = self._next()
        head = f'{{"jsonrpc": "2.0", "id": {number}, "method": {json.dumps(method)}'
        return Line(kind, f'{head}, "params": {params}}}', number)

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _object(self, schema: Schema, often: float) -> dict[str, Any]:
        """An object of a schema: what it requires, and some of the rest. Nothing waits."""
        required = schema.get("required", ())
        given = {
            name: self._value(each, schema.get("$defs", {}), name)
            for name, each in schema.get("properties", {}).items()
            if name in required or self.random.random() < often
        }
        return given | ({"wait_s": 0} if "wait_s" in schema.get("properties", {}) else {})

    def _value(self, schema: Schema, defs: dict[str, Schema], name: str) -> Any:
        if name in self.known and self.random.random() < 0.6:
            return self.known[name]
        if name == "id":
            return self.random.choice((*self.known.values(), self.random.choice(TEXTS)))
        if "$ref" in schema:
            schema = defs[schema["$ref"].rpartition("/")[2]]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        match schema.get("type"):
            case "integer":
                return self.random.choice(
                    (1, 2, schema.get("minimum", 0), schema.get("maximum", 9))
                )
            case "number":
                return self.random.choice(NUMBERS)
            case "boolean":
                return self.random.random() < 0.5
            case "array":
                items = schema.get("items", {})
                return [self._value(items, defs, "") for _ in range(self.random.randint(0, 3))]
            case "object":
                return self._object(schema | {"$defs": defs}, 0.5)
            case _:
                return self.random.choice((*TEXTS, *self.known.values()))

    def _anything(self, depth: int) -> Any:
        """Any value of JSON."""
        kinds = 5 if depth else 4
        match self.random.randrange(kinds):
            case 0:
                return self.random.choice(TEXTS)
            case 1:
                return self.random.choice(NUMBERS)
            case 2:
                return self.random.choice((None, True, False))
            case 3:
                return json.loads(self.random.choice(("[]", "{}")))
            case _:
                inner = [self._anything(depth - 1) for _ in range(self.random.randint(1, 3))]
                as_object = self.random.random() < 0.5
                return {f"k{i}": v for i, v in enumerate(inner)} if as_object else inner
