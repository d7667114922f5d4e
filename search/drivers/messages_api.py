"""One call of the Messages API: streamed, with faults sorted into what may pass and what stays."""

from __future__ import annotations

import os
from importlib.util import find_spec
from typing import Any, Final

from ...runners.errors import PlannerFailed
from ...runners.wording import shortened
from .driver import BROKEN, Interrupted, JsonObject, Returned, Usage
from .settings import PlannerSettings

KEYS: Final = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
PASSES: Final = frozenset({408, 409, 429})
"""statuses that may be gone at the next call, beside all from 500 on (529 is overload)"""
PASSING: Final = frozenset({"overloaded_error", "rate_limit_error", "api_error", "timeout_error"})
"""the same as types of errors, which a stream may end with"""
FIELDS: Final = {
    "text": ("type", "text"),
    "thinking": ("type", "thinking", "signature"),
    "redacted_thinking": ("type", "data"),
    "tool_use": ("type", "id", "name", "input"),
}
"""of blocks, those that may be sent back"""
RULES: Final = "planner rules needs nobody"
KEPT: Final = f"what was found is kept; another --model, with --resume, may know more; {RULES}"
RESUME: Final = f"go on with --resume then; {RULES}"


class MessagesApi:
    """The service. The SDK is loaded by the first call; the environment has the key, and only the
    SDK reads it."""

    def __init__(self, settings: PlannerSettings) -> None:
        if find_spec("anthropic") is None:
            raise PlannerFailed(
                "planner anthropic needs the package anthropic, which is not installed",
                next_step=f'pip install ".[anthropic]"; {RULES}',
            )
        if not any(os.environ.get(name) for name in KEYS):
            raise PlannerFailed(
                "there is no key for the model's service",
                valid=" or ".join(KEYS) + " in the environment",
                next_step=RULES,
            )
        self._settings = settings

    def call(self, body: JsonObject) -> Returned:
        """One message. Raises Interrupted, PlannerFailed."""
        import anthropic
        import httpx2

        seen: list[Any] = []
        try:
            with self._client() as client, client.messages.stream(**body) as stream:
                for _ in stream:
                    seen[:] = [stream.current_message_snapshot]
        except anthropic.APIStatusError as error:
            if not _passes(error):
                raise self._failed(error) from error
            raise Interrupted(
                f"the service answered {_words(error)}",
                wait_s=_wait(error),
                returned=_partial(seen),
            ) from error
        except (anthropic.APIError, httpx2.HTTPError) as error:
            raise Interrupted(
                f"the service was not reached, or broke off ({shortened(str(error), 120)})",
                returned=_partial(seen),
            ) from error
        if not seen or seen[0].stop_reason is None:
            raise Interrupted("the service broke off its answer", returned=_partial(seen))
        return _returned(seen[0], str(seen[0].stop_reason))

    def _client(self) -> Any:
        """One for each call, which lasts minutes: no connection is left open between two."""
        import anthropic

        # Retries are ours: each attempt is looked at for what it may cost, and kept.
        settings = self._settings
        return anthropic.Anthropic(
            base_url=settings.base_url, timeout=settings.timeout_s, max_retries=0
        )

    def _failed(self, error: Any) -> PlannerFailed:
        told = f"the service refused the call: {_words(error)}"
        match error.status_code:
            case 401 | 403:
                return PlannerFailed(told, valid=f"a key in {' or '.join(KEYS)}", next_step=RESUME)
            case 404:
                return PlannerFailed(
                    told, valid=f"a model that the service knows; `{self._settings.model}` is none",
                    next_step=f"name another --model, with --resume; {RULES}",
                )  # fmt: skip
            case _:
                return PlannerFailed(told, next_step=f"mend the settings; {RESUME}")


def _passes(error: Any) -> bool:
    return error.status_code in PASSES or error.status_code >= 500 or error.type in PASSING


def _words(error: Any) -> str:
    return f"{error.status_code} {shortened(error.api_message or error.message, 200)}"


def _wait(error: Any) -> float | None:
    """Seconds that the service asks to wait."""
    try:
        return float(error.response.headers["retry-after"])
    except (KeyError, ValueError):
        return None


def _partial(seen: list[Any]) -> Returned | None:
    """What had come of an answer that broke off; None: nothing that was paid for."""
    return _returned(seen[0], BROKEN) if seen else None


def _returned(message: Any, stop: str) -> Returned:
    usage = message.usage
    return Returned(
        content=tuple(_block(block) for block in message.content),
        stop=stop,
        model=message.model,
        usage=Usage(
            input=usage.input_tokens or 0,
            cache_write=usage.cache_creation_input_tokens or 0,
            cache_read=usage.cache_read_input_tokens or 0,
            output=usage.output_tokens or 0,
        ),
    )


def _block(block: Any) -> JsonObject:
    whole: JsonObject = block.model_dump(mode="json", exclude_none=True)
    wanted = FIELDS.get(whole["type"])
    return whole if wanted is None else {name: whole[name] for name in wanted if name in whole}
