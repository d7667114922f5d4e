"""From Python source to launch plans without a GPU: the child side, which runs untrusted Python."""

from __future__ import annotations

from .capturing import capture
from .libraries import preload
from .messages import CaptureRequest, CaptureResult, EntryFacts

__all__ = ["CaptureRequest", "CaptureResult", "EntryFacts", "capture", "preload"]
