"""An agent of your own: a model calls Kernelwright's tools until it has nothing more to try.

Usage: python examples/agent.py SPEC [MODEL]; pip install ".[anthropic]", key in ANTHROPIC_API_KEY.
"""

import sys
from pathlib import Path
from typing import Any

import anyio
from anthropic import AsyncAnthropic
from anthropic.types import ToolUseBlock
from mcp import Client, StdioServerParameters

TASK = """Open the kernel of {spec} and make it faster: read its brief, propose variants that differ
in kind, build and time each, go on from the best. Believe no speedup but time_variant's. Stop when
three in a row gained nothing; then name the best variant, its speedup and its interval."""
TOLD = {"name", "description", "input_schema"}  # of a tool
RUNNING = ("queued", "running")  # of a job
MOST_TURNS = 40  # each sends the whole conversation again, most of it from the cache


async def result_of(client: Client, call: ToolUseBlock) -> dict[str, Any]:
    """What a tool said, as the model is told it; work that outlives a call is waited for here."""
    answer = await client.call_tool(call.name, call.input)
    while (job := answer.structured_content) and "job_id" in job and job.get("status") in RUNNING:
        answer = await client.call_tool("job", {"job_id": job["job_id"]})
    said = "\n".join(block.text for block in answer.content if block.type == "text")
    print(call.name, str(call.input)[:99], "->", said[:99])
    told = {"tool_use_id": call.id, "content": said, "is_error": answer.is_error}
    return {"type": "tool_result"} | told


async def converse(client: Client, spec: str, model: str) -> str:
    """The model's last words, after all that it asked of the tools."""
    tools: Any = [tool.model_dump(include=TOLD) for tool in (await client.list_tools()).tools]
    body: Any = {"model": model, "max_tokens": 16_000, "cache_control": {"type": "ephemeral"}}
    messages: list[Any] = [{"role": "user", "content": TASK.format(spec=spec)}]
    async with AsyncAnthropic() as api:
        for _ in range(MOST_TURNS):
            async with api.messages.stream(tools=tools, messages=messages, **body) as stream:
                said = await stream.get_final_message()
            if said.stop_reason != "tool_use":  # cut off or refused: no call in it is whole
                words = "".join(block.text for block in said.content if block.type == "text")
                return f"{words} ({said.stop_reason})"
            results = [await result_of(client, c) for c in said.content if c.type == "tool_use"]
            told = {"role": "user", "content": results}
            messages += [{"role": "assistant", "content": said.content}, told]
    return f"stopped after {MOST_TURNS} turns"


async def main(spec: Path, model: str = "claude-opus-5-5") -> None:
    serve = ["-m", "kernelwright.server", "serve", "--root", str(spec.resolve().parent)]
    async with Client(StdioServerParameters(command=sys.executable, args=serve)) as client:
        print(await converse(client, spec.name, model))


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), *sys.argv[2:3])
