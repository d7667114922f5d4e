"""`kernelwright regraph`: what methods brought after which others, over kernels and outdirs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .commands.names import name as name_command
from .commands.names import names as names_command
from .options.paths import file_there, folder_there, there

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..search.regraph.report import Line
    from ..search.regraph.tallies import ReGraph

app = typer.Typer(
    help="What methods brought after which others, measured over kernels.", no_args_is_help=True
)
app.command("names")(names_command)
app.command("name")(name_command)
LINES = 15
Known = Annotated[
    Path, typer.Argument(callback=there, help="An --outdir of earlier runs, or a regraph.json.")
]


@app.command()
def build(
    outdirs: Annotated[
        list[Path], typer.Argument(callback=folder_there, help="Outdirs of earlier runs.")
    ],
    to: Annotated[
        Path | None, typer.Option(help="File to write; default regraph.json in the first outdir.")
    ] = None,
    no_merge: Annotated[
        bool, typer.Option("--no-merge", help="Count every name of a method on its own.")
    ] = False,
) -> None:
    """Add up the transitions of outdirs, and of what was imported into them, in one file."""
    from ..search.outdir.regraph_files import REGRAPH
    from ..search.regraph.tallies import as_told, merge_all

    graph = as_told(merge_all(map(_graph, outdirs)), merging=not no_merge)
    _write(graph, to or outdirs[0] / REGRAPH)


@app.command()
def show(
    known: Known,
    rules: Annotated[
        bool, typer.Option("--rules", help="What following each rule and skill brought.")
    ] = False,
    limit: Annotated[int, typer.Option(min=1, help="Lines of each table.")] = LINES,
) -> None:
    """Tables of the steps that promise most, and of those that were tried most often."""
    from ..search.regraph import report
    from ..search.regraph.posterior import Posteriors

    graph = Posteriors(_graph(known))
    if rules:
        for source in ("rule", "skill"):
            found = report.brought(graph, source).items()
            ranked = sorted(found, key=lambda each: -each[1].expected)
            _print(f"{source}s: what following them brought", ranked[:limit])
        return
    steps = report.edges(graph)
    for title, lines in (
        ("most promising steps", report.by_gain(steps)),
        ("most tried steps", report.by_count(steps)),
    ):
        _print(title, [(report.step(each), each) for each in lines[:limit]])
    for name, each in graph.regraph.merged.items():
        print(f"{name} is counted as {each.into}: {each.reason}")


@app.command()
def merge(
    files: Annotated[
        list[Path], typer.Argument(callback=file_there, help="Files of build or export.")
    ],
    to: Annotated[Path, typer.Option(help="File to write.")],
) -> None:
    """Put several files together; what several of them hold counts once."""
    from ..search.regraph.tallies import merge_all

    _write(merge_all(map(_graph, files)), to)


@app.command()
def export(
    known: Known,
    to: Annotated[Path, typer.Option(file_okay=False, help="Folder to write to.")],
) -> None:
    """Write it as JSON, as tables to read, and as a picture."""
    from ..search.outdir.regraph_files import write_regraph

    for path in write_regraph(_graph(known), to):
        print(path)


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(callback=file_there, help="A regraph.json.")],
    outdir: Annotated[Path, typer.Option(file_okay=False, help="Whose later searches use it.")],
) -> None:
    """Let later searches in an outdir use what was measured elsewhere."""
    from ..search.stored.experience import import_regraph
    from ..store.store import STATE_FILE, Store

    graph = _graph(file)
    with Store.open(outdir / STATE_FILE) as store:
        import_regraph(store, graph)
    print(f"{outdir}: later searches use {_size(graph)}")


def _graph(path: Path) -> ReGraph:
    """Of a file, or of an outdir's state. Raises AccessError, SpecError, StoreError."""
    from ..runners.errors import AccessError
    from ..search.stored.experience import read_regraph, regraph_of
    from ..store.store import STATE_FILE, Store

    if not path.is_dir():
        return read_regraph(path)
    if not (path / STATE_FILE).is_file():
        raise AccessError(
            f"{path} holds no {STATE_FILE}",
            valid="the --outdir of an earlier `optimize`, a project's .kernelwright, or a file",
        )
    with Store.open(path / STATE_FILE) as store:
        return regraph_of(store)


def _write(graph: ReGraph, path: Path) -> None:
    from ..runners.whole_files import write_whole
    from ..search.regraph.file import to_json

    path.parent.mkdir(parents=True, exist_ok=True)
    print(f"{write_whole(path, to_json(graph))}: {_size(graph)}")


def _size(graph: ReGraph) -> str:
    kernels = len({each.kernel_id for each in graph.searches})
    steps = sum(each.transitions for each in graph.searches)
    return f"{steps} steps of {len(graph.searches)} searches on {kernels} kernels"


def _print(title: str, lines: Iterable[tuple[str, Line]]) -> None:
    from rich.table import Table

    from .terminal.grid import console

    table = Table(
        "", "gain (95 %)", "tries", "failed", "kernels", title=title, title_justify="left"
    )
    for name, line in lines:
        cells = (line.gain, str(line.count), line.failed, str(len(line.kernels)))
        table.add_row(name, *cells)
    console().print(table)
