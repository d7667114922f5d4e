"""`python -m kernelwright.server serve|broker [--outdir FOLDER] [--root FOLDER ...]`.

`serve`: MCP over stdio. `broker`: the process that it asks; started by it, never by hand.
"""

from __future__ import annotations

from .wire import claim_stdio

claim_stdio()

import argparse  # noqa: E402 - whatever an import prints must not reach the client
import os  # noqa: E402
import sys  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import NoReturn  # noqa: E402

from ..runners.collecting import nothing_collected  # noqa: E402
from ..runners.errors import KernelwrightError  # noqa: E402


def main() -> None:
    """Read the command line and serve."""
    parser = argparse.ArgumentParser(prog="python -m kernelwright.server")
    parser.add_argument("command", choices=("serve", "broker"))
    parser.add_argument("--outdir", type=Path, default=Path(".kernelwright"))
    parser.add_argument("--root", type=Path, action="append", help="default: the working folder")
    parser.add_argument("--gpus", default="")
    given = parser.parse_args()
    roots = given.root or [Path.cwd()]
    gpus = [name for name in str(given.gpus).split(",") if name]
    if given.command == "broker":
        _be_broker(given.outdir, roots, gpus)
    else:
        from .protocol.sdk_models import made_when_used

        with nothing_collected(), made_when_used():
            from .app import serve_stdio

        serve_stdio(given.outdir, roots, gpus)


def _be_broker(outdir: Path, roots: list[Path], gpus: list[str]) -> NoReturn:
    """Take the broker's place, then load what it needs: of many that are started at once all but
    one end before that, and who calls meanwhile waits for an answer in place of starting another.
    """
    from .broker.place import Place

    taken = Place(outdir).taken()
    if taken is None:
        os._exit(0)
    with nothing_collected():
        from .broker.serving import Broker
        from .observing.logs import begin_logs
        from .observing.spans import begin_spans

    begin_logs()
    flush = begin_spans()
    Broker(taken, outdir, roots, gpus).serve()
    flush()
    os._exit(0)  # threads of calls wait for jobs that are the next broker's now


if __name__ == "__main__":
    try:
        main()
    except KernelwrightError as error:
        sys.exit(f"error: {error}")
