"""The SDK's models, made when they are first used.

It defines several hundred, for two versions of the protocol, and a session uses a few dozen. Making
what checks and writes all of them is a third of a server's start.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from pydantic import BaseModel


@contextmanager
def made_when_used() -> Generator[None]:
    """For a body that loads the SDK, while no other thread defines models: those that it defines
    inherit what pydantic's base says of all, which is as before at its end."""
    config = BaseModel.model_config
    before = config.get("defer_build", False)
    config["defer_build"] = True
    try:
        yield
    finally:
        config["defer_build"] = before
