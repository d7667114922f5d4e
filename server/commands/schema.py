"""`kernelwright schema`: the JSON schema of each file that others may read."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def schema(
    name: Annotated[
        str, typer.Argument(help="A file, such as result.json; none: the list of them.")
    ] = "",
) -> None:
    """Print the JSON schema of a file that is read or written, or the names of all."""
    from ...search.outdir.published import PUBLISHED
    from ...search.outdir.published import schema as schema_of

    if name:
        print(json.dumps(schema_of(name), indent=2))
    else:
        print("\n".join(PUBLISHED))
