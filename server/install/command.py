"""`kernelwright install`: shows what it writes into a client's settings, then writes it."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated

import typer

from ..options.gpus import GpuNames
from ..options.paths import folder_there
from .clients import CLIENTS, client_named, launch_of


def install(
    client: Annotated[
        str, typer.Argument(help=" | ".join(each.name for each in CLIENTS), show_default=False)
    ],
    project: Annotated[
        Path, typer.Option(callback=folder_there, help="The project; default this folder.")
    ] = Path(),
    outdir: Annotated[
        Path | None, typer.Option(help="Folder of the state; default .kernelwright in the project.")
    ] = None,
    root: Annotated[
        list[Path] | None,
        typer.Option(
            callback=folder_there,
            help="A folder that files may be read from; repeatable; default the project.",
        ),
    ] = None,
    gpus: GpuNames = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show it, and write nothing.")] = False,
) -> None:
    """Name this server in the settings of a client, for one project. What was there stays.

    Shows the change first; a file that is replaced is kept beside it as FILE.bak.
    """
    from ...runners.whole_files import write_whole
    from .settings_files import with_server

    chosen = client_named(client)
    folder = project.absolute().resolve()
    launch = launch_of(folder, outdir, tuple(root or ()), gpus)
    path = chosen.settings(folder, Path.home())
    before = path.read_text("utf-8") if path.exists() else ""
    after = with_server(chosen, path, before, launch)
    if after == before:
        print(f"{path} names this server already: nothing to do")
        return
    print(f"{chosen.title}: {path}")
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=2
    )
    print("\n".join(lines))
    if dry_run:
        print("nothing was written")
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if before:
        write_whole(path.with_name(path.name + ".bak"), before)
    write_whole(path, after)
    print(f"written. Next: {chosen.then}")
