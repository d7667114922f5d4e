"""What the oracle's process may touch: it runs the user's reference, and nothing else does."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from ..device.presence.registry import register
from ..processes.channel import Channel
from ..processes.sandbox import (
    drop_capabilities,
    install_seccomp,
    landlock,
    landlock_abi,
    reference_filter,
)
from ..processes.seccomp import device_filter, has_seccomp
from .messages import OracleSettings

SYSTEM = (
    "/usr", "/lib", "/lib64", "/sys/devices/system", "/proc/self", "/proc/cpuinfo",
    "/proc/meminfo", "/dev/urandom",
    # of /etc by name: the rest of it is nobody's business, passwords above all
    "/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/passwd", "/etc/group",
    "/etc/nsswitch.conf", "/etc/os-release", "/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf",
    "/etc/crypto-policies",
)  # fmt: skip
"""What numpy, torch and the C library read."""
DEVICE_READ = ("/proc", "/sys", "/opt", "/etc/nvidia", "/etc/alternatives", "/run/nvidia")
"""What the CUDA driver reads besides: what is loaded, how the GPU is connected, libraries."""
DEVICE_WRITE = ("/dev/shm", "/dev/null", "/dev/zero", "/dev/dxg", "/proc/self")
"""What it writes besides the GPU's own files; /proc/self for the names of its threads."""
LIBRARY_VARIABLES = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH")
SOON_ASLEEP = {"GOMP_SPINCOUNT": "3000"}
"""How teams of threads wait, torch's among them. GCC's own count is milliseconds: where somebody
else is at work each parallel loop then costs several times its processor time, and a team still
spins beside what is timed after it."""


def environment_of(settings: OracleSettings, uuid: str | None) -> dict[str, str]:
    """Environment variables of the process, besides those every child gets.

    No PATH: there is nothing it could start, and what looks for programs should not find any.
    """
    common = {"PATH": "", "PYTHONDONTWRITEBYTECODE": "1", "CUDA_VISIBLE_DEVICES": uuid or ""}
    common |= SOON_ASLEEP
    if not settings.gpu:
        return common
    nvcc = shutil.which("nvcc")
    if nvcc is not None:  # by which cupy would find CUDA's headers, were there a PATH
        common["CUDA_PATH"] = os.environ.get("CUDA_PATH", str(Path(nvcc).resolve().parents[1]))
    folder = settings.private
    if not landlock_abi():  # then nothing is written at all
        return common | {"CUPY_CACHE_IN_MEMORY": "1", "CUDA_CACHE_DISABLE": "1"}
    return common | {
        "CUDA_CACHE_PATH": f"{folder}/cuda",
        "CUPY_CACHE_DIR": f"{folder}/cupy",
        "PYTORCH_KERNEL_CACHE_PATH": f"{folder}/torch",
        "TMPDIR": folder,
        "XDG_CACHE_HOME": folder,
    }


def begin(channel_fd: str, settings: str) -> tuple[Channel, OracleSettings]:
    """The start of either process of the oracle, by its arguments: noted where it works on a GPU,
    and confined. What is imported after it is imported within."""
    given = OracleSettings.model_validate_json(settings)
    channel = Channel.from_fd(int(channel_fd))
    if given.registry:
        register(Path(given.registry))
    confine(given)
    return channel, given


def confine(settings: OracleSettings) -> None:
    """Close the doors behind this process; called before numpy starts its threads.

    No network, no other programs, no reading outside the Python installation and its own files,
    and no writing; with a GPU, writing to the GPU's files and a private folder.
    """
    python = {sys.prefix, sys.base_prefix, *filter(None, sys.path)}
    package = str(Path(__file__).parents[2])
    read = [*SYSTEM, *sorted(python), package, *settings.readable]
    write = list[str]()
    if settings.gpu:
        read += [*DEVICE_READ, *_library_folders()]
        write += [settings.private, *DEVICE_WRITE, *map(str, sorted(Path("/dev").glob("nvidia*")))]
    guarded = landlock(_present(read), _present(write)) > 0
    drop_capabilities()
    if has_seccomp():
        pid = os.getpid()
        gpu = bool(settings.gpu)
        program = device_filter(pid, files_guarded=guarded) if gpu else reference_filter(pid)
        install_seccomp(program)


def _library_folders() -> list[str]:
    named = [part for name in LIBRARY_VARIABLES for part in os.environ.get(name, "").split(":")]
    return [part for part in named if part]


def _present(paths: Iterable[str]) -> list[Path]:
    return [path for path in map(Path, paths) if path.exists()]
