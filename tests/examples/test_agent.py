"""The agent of the examples as it is run: the real SDKs, a real server, a scripted model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from kernels import FASTER, tiny_kernel, with_known_peaks
from messages_api import Says, messages_api

from kernelwright.server.broker.remote_desk import asked_of_broker
from kernelwright.tools import TOOLS

AGENT = Path(__file__).parents[2] / "examples" / "agent.py"
MEASURED = ("faster", "tie", "slower", "unstable")
"""how a right candidate ends, whatever else the machine does meanwhile"""


def results(body: dict[str, Any]) -> list[dict[str, Any]]:
    """What the tools said to the model's last answer."""
    return body["messages"][-1]["content"]


def told(body: dict[str, Any], name: str) -> str:
    """A handle from the first of those results."""
    return json.loads(results(body)[0]["content"])["result"][name]


def builds(body: dict[str, Any]) -> Says:
    arguments = {"kernel_id": told(body, "kernel_id"), "method": "flags", "options": FASTER}
    return Says(calls=(("compile_variant", arguments), ("time_variant", {"variant_id": "v0"})))


def times(body: dict[str, Any]) -> Says:
    return Says(calls=(("time_variant", {"variant_id": told(body, "variant_id"), "wait_s": 0}),))


def test_an_agent_of_sixty_lines_takes_a_model_from_a_spec_to_a_verdict(tmp_path: Path) -> None:
    assert len(AGENT.read_text(encoding="utf-8").splitlines()) <= 60
    tiny_kernel(tmp_path)
    with_known_peaks(tmp_path / ".kernelwright")
    opens = Says("I open it.", calls=(("open_kernel", {"spec_path": "spec.json"}),))
    with messages_api(opens, builds, times, Says("It is done.")) as server:
        service = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "sk-nobody"}
        done = subprocess.run(
            [sys.executable, str(AGENT), "spec.json", "a-model"],
            cwd=tmp_path,
            env={**os.environ, **service},
            capture_output=True,
            text=True,
        )
    broker = asked_of_broker(tmp_path / ".kernelwright", "stop")  # it would wait for other clients
    assert broker is not None
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "It is done. (end_turn)"
    first, _, third, last = server.asked
    assert {tool["name"] for tool in first["tools"]} == {tool.name for tool in TOOLS}
    assert (first["model"], "spec.json" in str(first["messages"])) == ("a-model", True)
    built, refused = results(third)
    assert not built["is_error"] and json.loads(built["content"])["result"]["ok"]
    assert refused["is_error"] and "`variants` holds no" in refused["content"]
    (timed,) = results(last)
    assert json.loads(timed["content"])["status"] == "done"
    assert json.loads(timed["content"])["result"]["ending"] in MEASURED
