"""`kernelwright token`: make, list and revoke the tokens of the HTTP server."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .tokens import Tokens

app = typer.Typer(
    help="Tokens of `serve --http`: make, list, revoke.", no_args_is_help=True, add_completion=False
)

State = Annotated[
    Path, typer.Option(help="Folder of the state that the server serves (its --outdir).")
]
IN_PROJECT = Path(".kernelwright")


class Allowed(StrEnum):
    """What a token's holder may do."""

    read = "read"
    work = "work"


@app.command()
def make(
    name: Annotated[str, typer.Argument(help="Who will hold it, for example laptop.")],
    scope: Annotated[
        Allowed, typer.Option(help="read: only tools that build and run nothing; work: all.")
    ] = Allowed.work,
    outdir: State = IN_PROJECT,
) -> None:
    """Make a token and print it: it is shown this once, and kept as a digest."""
    print(Tokens(outdir).make(name, scope.value))


@app.command("list")
def list_tokens(outdir: State = IN_PROJECT) -> None:
    """Print name, scope and date of each token."""
    kept = Tokens(outdir).kept()
    for token in kept:
        print(f"{token.name}\t{token.scope}\t{token.made_at}")
    if not kept:
        print("no tokens: `kernelwright token make NAME` makes one")


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="As `kernelwright token list` shows it.")],
    outdir: State = IN_PROJECT,
) -> None:
    """Refuse a token from now on, also in a server that is running."""
    Tokens(outdir).revoke(name)
    print(f"`{name}` is refused from now on")
