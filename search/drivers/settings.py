"""Settings of whoever answers a planner's questions."""

from __future__ import annotations

from decimal import Decimal
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator

from ...runners.described import Described


class PlannerSettings(Described):
    """Settings of a driver, kept with its search. Keys are no settings: the environment has them,
    and nobody writes them down."""

    model: str = "claude-opus-5-5"
    """of planner anthropic: the model's name"""
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    """how much it thinks; None: the model's default"""
    thinking: Literal["adaptive", "disabled"] | None = None
    """None: the model's default; some models refuse to have it disabled"""
    base_url: str | None = None
    """of the service; None: the SDK's default, or ANTHROPIC_BASE_URL"""
    max_output: int = Field(default=16_000, ge=256)
    """tokens of one answer, thinking included"""
    tool_rounds: int = Field(default=6, ge=0)
    """times that the model may look at something before it has to answer"""
    timeout_s: float = Field(default=600.0, gt=0)
    """of one call, or of a run of the command"""
    retries: int = Field(default=5, ge=0)
    """times that an interrupted call is made again"""
    backoff_s: float = Field(default=1.0, ge=0)
    """before the first of them; doubled each time, a minute at most"""
    command: tuple[str, ...] = ()
    """of planner command: program and arguments"""
    command_env: tuple[str, ...] = ()
    """names of environment variables that the command may see beside the usual few"""
    repairs: int = Field(default=2, ge=0)
    """times that what failed goes back to be mended; 0: never"""
    housekeeping: bool | None = None
    """whether it is asked, once a search has stopped, what new names of methods mean and what a
    long memory comes to; None: a model is, and a command is not"""
    budget_usd: Decimal | None = Field(default=None, gt=0)
    """dollars that a search may cost; None: no limit"""
    budget_tokens: int | None = Field(default=None, ge=1)
    """tokens of all kinds that it may read and write; None: no limit"""

    @field_validator("base_url")
    @classmethod
    def _without_secrets(cls, value: str | None) -> str | None:
        if value is not None and (urlsplit(value).username or urlsplit(value).password):
            raise ValueError("a base URL is kept with the search: no user or password in it")
        return value
