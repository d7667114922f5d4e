"""Log records as lines of JSON, for who collects them: `KERNELWRIGHT_LOG=json`, on stderr.

`KERNELWRIGHT_LOG_LEVEL` says from which level on (default WARNING; INFO has a record for every
call). Without the first variable the records are text, as the SDK writes them.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Final

from ...runners.errors import SpecError

FORM, LEVEL = "KERNELWRIGHT_LOG", "KERNELWRIGHT_LOG_LEVEL"
LEVELS: Final = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


class AsJson(logging.Formatter):
    """A record as one line."""

    def format(self, record: logging.LogRecord) -> str:
        """See `logging.Formatter.format`."""
        told: dict[str, object] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "pid": record.process,
            "message": record.getMessage(),
        }
        if (call := getattr(record, "call", None)) is not None:
            told["call"] = call
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=True, default=str)


def begin_logs() -> None:
    """Write records as the environment says. Raises SpecError for an unknown form or level."""
    form, level = os.environ.get(FORM, "text"), os.environ.get(LEVEL, "WARNING").upper()
    if form not in ("text", "json"):
        raise SpecError(f"{FORM} is `{form}`", valid="text, json")
    if level not in LEVELS:
        raise SpecError(f"{LEVEL} is `{level}`", valid=", ".join(LEVELS))
    if form == "json":
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(AsJson())
        logging.basicConfig(level="WARNING", handlers=[handler], force=True)
    logging.getLogger("kernelwright").setLevel(level)
