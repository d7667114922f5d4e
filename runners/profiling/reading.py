"""Reports of Nsight Compute, our own or those that a user made elsewhere, to profiles.

NVIDIA's module reads a report without a GPU and without Nsight Compute; where there is none, ncu
prints tables, which hold the metrics and the advice and nothing by instruction. Both run as
children with limits. A reader must be of the writer's release or later: others are not asked.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from ..errors import AccessError, ProfileFailed, ToolchainMissing
from ..processes.process import Finished, Limits, clean_environment, run_limited
from . import readers, tables
from .envelope import Envelope, read_envelope, release
from .judging import nothing_profiled
from .model import Profile
from .read_report import ReadAnswer, ReadJob

MODULE = "kernelwright.runners.profiling.read_report"
MAX_BYTES = 1 << 30
READ_S = 120.0
TABLE_BYTES = 256 << 20
INSTALL = "pip install 'kernelwright[ncu]'"
PROFILE_AGAIN = "profile again, and copy the whole file"
UNIT, BASE = ("--print-units", "base"), ("--print-kernel-base", "mangled")


def read_profile(
    report: Path,
    scratch: Path,
    expected: Collection[str] = (),
    instances: Collection[str] = (),
) -> Profile:
    """Every launch of a report. `expected`: entries, all launches of which it must be about;
    `instances`: metrics whose instances are wanted, beside those that are always kept.

    Raises AccessError for no such file, ToolchainMissing where nothing can read reports here, and
    ProfileFailed for a damaged or empty report, a newer one than can be read, or another kernel's.
    """
    envelope = _envelope(report)
    scratch.mkdir(parents=True, exist_ok=True)
    faults = list[str]()
    with TemporaryDirectory(dir=scratch) as private:
        profile = _by_module(report, Path(private), envelope, faults, instances)
        profile = profile or _by_tables(report, Path(private), envelope, faults)
    if profile is None:
        raise _unread(report, envelope, faults)
    check_kernels(profile, expected)
    return profile


def check_kernels(profile: Profile, expected: Collection[str]) -> None:
    """Raises ProfileFailed when a launch is of none of the kernels; any will do where none are."""
    wanted = set(expected)
    other = [p.kernel for p in profile.launches if not wanted & {p.kernel, p.name}]
    if wanted and other:
        raise ProfileFailed(
            f"the report is about another kernel: `{other[0]}`",
            valid=", ".join(f"`{name}`" for name in expected),
            next_step="give the report of this variant, or profile it here",
        )


def _envelope(report: Path) -> Envelope:
    try:
        if report.stat().st_size > MAX_BYTES:
            raise ProfileFailed(
                f"{report} has {report.stat().st_size >> 20} MiB",
                valid=f"up to {MAX_BYTES >> 20} MiB",
                next_step="profile fewer launches (--launch-count)",
            )
        envelope = read_envelope(report.read_bytes())
    except OSError as error:
        raise AccessError(
            f"{report} cannot be read: {error.strerror}", next_step="name a .ncu-rep file"
        ) from error
    if envelope.damage:
        raise ProfileFailed(
            f"{report} is no whole report: {envelope.damage}",
            valid="a .ncu-rep file as ncu wrote it",
            next_step=PROFILE_AGAIN,
        )
    return envelope


def _by_module(
    report: Path,
    private: Path,
    envelope: Envelope,
    faults: list[str],
    instances: Collection[str],
) -> Profile | None:
    job, answer = private / "job.json", private / "answer.json"
    for folder in readers.module_folders():
        asked = ReadJob(
            report=str(report.resolve()),
            answer=str(answer),
            folder=None if folder is None else str(folder),
            instances=tuple(instances),
        )
        job.write_text(asked.model_dump_json(), encoding="utf-8")
        done = _run([sys.executable, "-P", "-m", MODULE, job], private)
        where = f"ncu_report in {folder}" if folder else "ncu_report"
        if done.returncode != 0 or not answer.exists():
            faults.append(f"{where}: {_last_line(done)}")
            continue
        told = ReadAnswer.model_validate_json(answer.read_bytes())
        answer.unlink()
        if told.launches:
            return Profile(
                launches=told.launches,
                written_by=envelope.version,
                read_by=f"ncu-report {told.reader}",
            )
        faults.append(f"{where} {told.reader}: {told.fault or 'it finds no launch'}")
        if not told.fault:
            raise nothing_profiled(str(report))
    return None


def _by_tables(
    report: Path, private: Path, envelope: Envelope, faults: list[str]
) -> Profile | None:
    program = readers.program()
    if program is None:
        return None
    pages = list[str]()
    for page in ("raw", "details"):
        words = ["--import", report.resolve(), "--csv", "--page", page, *UNIT, *BASE]
        done = _run([program, *words], private)
        if done.returncode != 0:
            faults.append(f"{program}: {_last_line(done)}")
            return None
        pages.append(done.stdout)
    try:
        launches = tables.launches(*pages)
    except (ValueError, KeyError) as error:
        faults.append(f"{program} prints a table that is not understood: {error}")
        return None
    if not launches:
        raise nothing_profiled(str(report))
    return Profile(launches=launches, written_by=envelope.version, read_by="ncu --csv")


def _unread(report: Path, envelope: Envelope, faults: Sequence[str]) -> Exception:
    if not faults:
        return ToolchainMissing("nothing here reads reports of Nsight Compute", next_step=INSTALL)
    written = envelope.version or "unknown"
    needed = release(envelope.version)
    least = f"ncu-report {needed[0]}.{needed[1]} or later" if needed else "a later ncu-report"
    upgrade = f"pip install --upgrade 'ncu-report>={needed[0]}.{needed[1]}'" if needed else INSTALL
    return ProfileFailed(
        f"{report}, written by ncu {written}, could not be read: {'; '.join(faults)}",
        valid=least,
        next_step=upgrade,
    )


def _run(words: Sequence[str | Path], private: Path) -> Finished:
    return run_limited(
        words,
        scratch=private,
        environment=clean_environment(private, {"LC_ALL": "C"}),
        limits=Limits(wall_s=READ_S, file_bytes=4 << 30),
        text_bytes=TABLE_BYTES,
    )


def _last_line(done: Finished) -> str:
    lines = [line for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
    return f"{done.ending}, {lines[-1][:300]}" if lines else done.ending
