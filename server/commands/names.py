"""`kernelwright regraph names` and `name`: what free-text names of methods mean, and saying so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..options.paths import folder_there


def names(
    outdir: Annotated[Path, typer.Argument(callback=folder_there, help="Outdir of earlier runs.")],
) -> None:
    """List the names outside the catalogue that were tried: what each is counted as, how often it
    was tried, who says so and why."""
    from rich.table import Table

    from ...search.stored.experience import regraph_of
    from ...search.stored.naming import names_of
    from ...store.store import Store
    from ..terminal.grid import console

    with Store.open(_state(outdir)) as store:
        found = names_of(regraph_of(store))
    if not found:
        print("every method that was tried is one of the catalogue")
        return
    table = Table("name", "counted as", "tries", "says", "why")
    for each in found:
        own = each.counted_as == each.name
        cells = ("a method of its own" if own else each.counted_as, str(each.tries))
        table.add_row(each.name, *cells, each.said_by, each.reason)
    console().print(table)


def name(
    outdir: Annotated[Path, typer.Argument(callback=folder_there, help="Outdir of earlier runs.")],
    of: Annotated[str, typer.Argument(metavar="NAME", help="As `regraph names` lists it.")],
    as_: Annotated[str, typer.Option("--as", help="The method that it means.")] = "",
    own: Annotated[bool, typer.Option("--own", help="It is a method of its own.")] = False,
    undo: Annotated[bool, typer.Option("--undo", help="Take back what was said last.")] = False,
    why: Annotated[str, typer.Option(help="The reason, which is kept beside it.")] = "",
) -> None:
    """Say what a name of a method means, or take that back. No sum is changed: names are counted
    together where they are read, and searches that begin later go by it."""
    from ...runners.errors import SpecError
    from ...search.stored.experience import regraph_of
    from ...search.stored.naming import said_by_hand, say, taken_back
    from ...store.store import Store

    if [bool(as_), own, undo].count(True) != 1:
        raise SpecError("one thing can be said at a time", valid="--as METHOD, --own, or --undo")
    with Store.open(_state(outdir)) as store:
        graph = regraph_of(store)
        label = taken_back(graph, of) if undo else said_by_hand(graph, of, of if own else as_, why)
        say(store, (label,))
        now = regraph_of(store).name(of)
    print(f"{of}: {'a method of its own' if now == of else f'counted as {now}'}")


def _state(outdir: Path) -> Path:
    """Raises AccessError where no run left anything."""
    from ...runners.errors import AccessError
    from ...store.store import STATE_FILE

    if not (outdir / STATE_FILE).is_file():
        raise AccessError(
            f"{outdir} holds no {STATE_FILE}",
            valid="the --outdir of an earlier `optimize`, or a project's .kernelwright",
        )
    return outdir / STATE_FILE
