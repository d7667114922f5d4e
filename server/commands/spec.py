"""`kernelwright spec`: the format, every problem of a spec, and a spec for a source file."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ..options.paths import file_there


def spec(
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of a spec.")
    ] = False,
    check: Annotated[
        Path | None, typer.Option(callback=file_there, metavar="FILE", help="A spec to check.")
    ] = None,
    infer: Annotated[
        Path | None,
        typer.Option(
            callback=file_there,
            metavar="SOURCE",
            help="A .cu, .cpp, .c or .py file to print a spec for, with ? where you decide.",
        ),
    ] = None,
    tensor: Annotated[
        Path | None,
        typer.Option(
            callback=file_there,
            metavar="FILE.npy",
            help="A small array to print as the `init` of an argument.",
        ),
    ] = None,
    kernel: Annotated[
        str | None, typer.Option(help="With --infer: the function, where there are several.")
    ] = None,
) -> None:
    """The format of a spec, every problem that one has, or a spec for a source file."""
    if schema + sum(each is not None for each in (check, infer, tensor)) != 1:
        told = "give one of --schema, --check FILE, --infer SOURCE and --tensor FILE.npy"
        print(told, file=sys.stderr)
        raise typer.Exit(1)
    if tensor is not None:
        _tensor(tensor)
        return
    if infer is not None:
        _infer(infer, kernel)
        return
    if check is None:
        from ...runners.specs.spec import KernelSpec

        print(json.dumps(KernelSpec.model_json_schema(), indent=2))
        return
    from ...evaluation.spec_check import check_spec
    from ...runners.loading.files import Roots, load_file

    loaded = load_file(check, Roots([check.parent, Path.cwd()]))
    with tempfile.TemporaryDirectory(prefix="kernelwright-check-") as folder:
        check_spec(loaded, Path(folder))
    workloads = ", ".join(w.name for w in loaded.spec.workloads)
    print(f"{check}: ok, kernel {loaded.kernel_id} builds, workloads {workloads}")


def _tensor(file: Path) -> None:
    from ...runners.specs.tensor import tensor_of_file

    found = tensor_of_file(file).model_dump(mode="json")
    print(json.dumps({"kind": "data", "data": found}))


def _infer(source: Path, kernel: str | None) -> None:
    from ...runners.loading.domains import with_domains, with_usual_numbers
    from ...runners.loading.files import Roots, draft_of_file
    from ...runners.specs.text import written
    from ...tools.parts.lifted_draft import with_lift

    drafted = draft_of_file(source, Roots([source.parent, Path.cwd()]), kernel)
    lifted = with_lift(drafted, source.read_text(encoding="utf-8", errors="replace"))
    found, numbers = with_usual_numbers(with_domains(lifted))
    print(written(found.data))
    open_places = "fill in:" if found.undecided else "nothing is left to fill in"
    print(f"{source}: save this spec beside it; {open_places}", file=sys.stderr)
    for line in found.undecided:
        print(f"  {line}", file=sys.stderr)
    if symbols := ", ".join(found.data["symbols"]):
        domains = f"which sizes are legal ({symbols}): smallest, largest, `multiple_of`"
        print(f"and correct what is proposed in `symbols`, {domains}", file=sys.stderr)
    if numbers:
        values = f"proposed by their names ({', '.join(numbers)})"
        print(f"and numbers that the source does not say, {values}", file=sys.stderr)
