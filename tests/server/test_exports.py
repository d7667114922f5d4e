"""What a client is told to build an exported variant with: no more and no less than it needs."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from kernels import SOURCE
from mcp import Client
from server_talk import Place, ask, result_of
from tiers import cases

UNGUARDED = "#include <cstdint>\n" + SOURCE[SOURCE.index("#endif") + len("#endif\n") :]
"""the kernel without its macro and the macro's guarded default"""


@cases(
    ("source", "told"),
    [
        ("#include <cstdint>\n" + UNGUARDED, []),
        (
            "#include <cstdint>\n" + UNGUARDED.replace("n; ++i", "n * UNROLL / UNROLL; ++i"),
            ["-DUNROLL=4"],
        ),
    ],
    ids=["unused", "used"],
    why="further flags and macros",
)
def test_an_export_names_the_specs_flags_and_only_the_macros_that_its_source_uses(
    source: str, told: list[str], place: Place, tmp_path: Path
) -> None:
    path = place.kernel.folder / f"exported{len(told)}.cpp"

    async def body(client: Client) -> dict[str, Any]:
        built = await result_of(
            client,
            "compile_variant",
            kernel_id=place.kernel_id,
            base="baseline",
            source=source,
            parameters={"UNROLL": 4},
        )
        variant_id = built["variant_id"]
        timed = await result_of(client, "time_variant", variant_id=variant_id)
        assert timed["ending"] in ("faster", "slower", "tie", "unstable")
        return await result_of(
            client,
            "export_variant",
            variant_id=variant_id,
            path=str(path),
            confirm=False,
            force=True,
        )

    exported = ask(place, body)
    flags = ["-O1", "-std=c++17", *told]
    assert exported["build_flags"] == flags
    assert exported["build_line"] == " ".join(["g++", *flags, "-c", path.name])
    assert exported["build_line"] in exported["advice"]
    line = [*exported["build_line"].split(), "-o", str(tmp_path / "it.o")]
    assert subprocess.run(line, cwd=path.parent, check=False).returncode == 0
