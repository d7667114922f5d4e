"""`python -m kernelwright.runners.capture REQUEST.json RESULT.json`: one capture, right here."""

from __future__ import annotations

import sys
from pathlib import Path

from .capturing import capture
from .messages import CaptureRequest


def main() -> None:
    """Read a request, capture, write the result."""
    request, result = map(Path, sys.argv[1:3])
    found = capture(CaptureRequest.model_validate_json(request.read_text(encoding="utf-8")))
    result.write_text(found.model_dump_json(), encoding="utf-8")


if __name__ == "__main__":
    main()
