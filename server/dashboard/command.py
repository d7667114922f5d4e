"""`kernelwright ui`: the dashboard, served on loopback until Ctrl-C."""

from __future__ import annotations

import os
import secrets
from functools import partial
from hmac import compare_digest
from pathlib import Path
from typing import Annotated

import typer

from ..options.paths import folder_there


def ui(
    outdir: Annotated[
        Path | None,
        typer.Argument(
            callback=folder_there,
            help="The state folder; default .kernelwright in this folder.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any that is free.")] = 0,
) -> None:
    """Show searches, graphs, sources, times and jobs in a browser, live; nothing is changed.

    Prints a link with a token for this run. From another machine: `ssh -L PORT:127.0.0.1:PORT`.
    """
    import uvicorn

    from ...search.outdir.report import state_file
    from ...search.session.workbench import Workbench
    from ..http.addresses import Address, listening_at, same_site
    from .site import Site

    folder = outdir or Path(os.environ.get("CLAUDE_PROJECT_DIR") or Path.cwd()) / ".kernelwright"
    state_file(folder)
    address = Address("127.0.0.1", port)
    listening = listening_at(address)
    token = secrets.token_urlsafe(24)
    with Workbench(folder, [folder]) as bench:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/?token={token}"
        print(f"open {url}\nCtrl-C ends it", flush=True)
        site = Site(lambda: bench, folder, partial(_is, token), same_site(address))
        config = uvicorn.Config(
            site.application(),
            log_level="warning",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=1,
        )
        uvicorn.Server(config).run(sockets=[listening])


def _is(token: str, given: str) -> bool:
    return compare_digest(given.encode(), token.encode())
