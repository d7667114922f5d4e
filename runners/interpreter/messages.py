"""What the server tells the interpreter's process of a variant."""

from __future__ import annotations

from pydantic import Field

from ..capture.messages import CaptureRequest
from ..model import Record


class Program(Record):
    """A variant as source: what a runner of machine code gets as modules and plans."""

    variant: str
    request: CaptureRequest
    """without a shape; each check adds that of its pool"""
    source: str
    files: dict[str, str] = Field(default_factory=dict[str, str])
    """what lies beside the source, by name"""
