"""`python -m kernelwright.server serve [--outdir FOLDER] [--root FOLDER ...]`: MCP over stdio."""

from __future__ import annotations

from .wire import claim_stdio

claim_stdio()

import argparse  # noqa: E402 - whatever an import prints must not reach the client
from pathlib import Path  # noqa: E402

from .app import serve_stdio  # noqa: E402


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m kernelwright.server")
    parser.add_argument("command", choices=("serve",))
    parser.add_argument("--outdir", type=Path, default=Path(".kernelwright"))
    parser.add_argument("--root", type=Path, action="append", help="default: the working folder")
    given = parser.parse_args()
    serve_stdio(given.outdir, given.root or [Path.cwd()])


if __name__ == "__main__":
    main()
