"""`kernelwright export`: a kernel's winner, or any variant, written to a file and verified."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..options.gpus import GpuNames, gpu_names
from ..options.paths import there

if TYPE_CHECKING:
    from ...store.store import Store
    from ...tools.export_variant import ExportedVariant


def export(
    outdir: Annotated[Path, typer.Argument(callback=there, help="The --outdir of an earlier run.")],
    kernel: Annotated[str, typer.Argument(help="A kernel, by its name or kernel_id.")],
    variant: Annotated[
        str, typer.Argument(help="A variant; its beginning is enough.")
    ] = "incumbent",
    to: Annotated[
        Path | None,
        typer.Option(help="The file to write; default the one that the kernel's source came from."),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Also what was not confirmed as faster; never what is wrong."),
    ] = False,
    confirm: Annotated[
        bool,
        typer.Option(
            "--confirm/--no-confirm", help="Confirm it first, unless that was done before."
        ),
    ] = True,
    gpus: GpuNames = "",
) -> None:
    """Write the winner into its source file, with a backup, its parameters as defaults.

    What was written is built and verified again, and undone where it is not right. Exit status: 0
    written, 1 refused, and nothing was changed.
    """
    from ...runners.errors import SpecError
    from ...search.outdir.report import state_file
    from ...search.session.workbench import Workbench
    from ...store.kernels import kernel_record
    from ...tools.export_variant import ExportVariantArguments, export_variant

    state_file(outdir)
    with Workbench(outdir, [Path.cwd()], gpu_names(gpus)) as bench:
        kernel_id, variant_id = _meant(bench.store, kernel, variant)
        home = kernel_record(bench.store, kernel_id).loaded.source_path
        target = to or (None if home is None else Path(home))
        if target is None:
            raise SpecError(
                f"the source of {kernel} came within its spec: there is no file to write it to",
                next_step="name one: --to FILE",
            )
        # The command line is its user's own: what it names may be written.
        bench.roots = type(bench.roots)([target.resolve().parent])
        wanted = ExportVariantArguments(
            variant_id=variant_id, path=str(target.resolve()), confirm=confirm, force=force
        )
        print(_told(export_variant(bench, wanted)))


def _meant(store: Store, kernel: str, variant: str) -> tuple[str, str]:
    """The ids of a kernel and one of its variants. Raises HandleUnknown, SpecError."""
    from ...runners.errors import SpecError
    from ...store.handles import find
    from ...store.kernels import kernel_record
    from ...store.variants import variant_record

    kind, kernel_id = find(store, kernel)
    if kind != "kernel":
        raise SpecError(f"`{kernel}` is a {kind}", valid="a kernel: kernelwright show OUTDIR")
    record = kernel_record(store, kernel_id)
    if variant in ("incumbent", "best"):
        if record.incumbent == record.baseline:
            raise SpecError(
                f"nothing faster than the baseline is known of {kernel}: nothing to export",
                next_step="kernelwright optimize --resume with a larger --budget-builds",
            )
        return kernel_id, record.incumbent
    kind, variant_id = find(store, variant)
    if kind != "variant" or variant_record(store, variant_id).variant.kernel_id != kernel_id:
        raise SpecError(f"`{variant}` is no variant of {kernel}", valid="incumbent, or a variant")
    return kernel_id, variant_id


def _told(written: ExportedVariant) -> str:
    from ...evaluation.difference import launch_words

    lines = [f"written: {written.path} ({written.variant_id})"]
    lines += [f"backup: {written.backup}"] if written.backup else []
    lines += [f"note: {written.note}"] if written.note else []
    if written.baked:
        baked = " ".join(f"{name}={value}" for name, value in written.baked.items())
        lines.append(f"now the defaults in the source: {baked}")
    lines += [f"confirmation: {written.confirmation}", f"verified: {written.verified}"]
    if written.build_line:
        lines.append(f"build it with: {written.build_line}")
    if written.launch:
        values = " ".join(f"{name}={value}" for name, value in written.launch.items())
        lines.append(f"launch it with: {values}")
    if written.plan:
        lines.append(f"its launch is another one: {launch_words(written.plan)}")
    return "\n".join(lines)
