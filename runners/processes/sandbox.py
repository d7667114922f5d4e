"""Confinement that needs no privileges, in layers; each is used where it is there.

`landlock` decides which files a process may open, `seccomp` which system calls it may make,
`drop_capabilities` takes from root what makes it root (with them gone, the memory of our other
processes is out of reach as well). `capabilities` says what this machine offers.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import stat
import struct
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from . import launch
from .process import probe_pid_namespaces
from .seccomp import builder_filter, compute_filter, has_seccomp, install_seccomp, reference_filter

__all__ = [
    "Capability",
    "builder_filter",
    "capabilities",
    "compute_filter",
    "drop_capabilities",
    "install_seccomp",
    "landlock",
    "landlock_abi",
    "reference_filter",
]

# The same numbers on x86_64 and aarch64 (linux/landlock.h).
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG = 1
_RULE_PATH_BENEATH = 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_RIGHTS_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEVICE
_READING = _EXECUTE | _READ_FILE | _READ_DIR
_BIND_AND_CONNECT_TCP = 0b11
_ABSTRACT_SOCKETS_AND_SIGNALS = 0b11

_libc = ctypes.CDLL(None, use_errno=True)


def landlock_abi() -> int:
    """The kernel's landlock version; 0 where it has none."""
    return max(0, _libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG))


def landlock(read: Sequence[Path], write: Sequence[Path]) -> int:
    """Let this process open files only beneath `read` (reading, executing) and `write` (all).

    Also, where the kernel can: no TCP, no abstract sockets and no signals to processes outside,
    and never the memory of such a process. For good, for the calling thread and the threads and
    processes it starts later, so call it before there are threads. What is open stays open.
    A path of `read` that does not exist is left out; one of `write` raises FileNotFoundError.
    Sets no_new_privs. Returns the version in force, 0 if the kernel has no landlock.
    """
    abi = landlock_abi()
    if not abi:
        return 0
    rights = _file_rights(abi)
    attributes = struct.pack(
        "=QQQ",
        rights,
        _BIND_AND_CONNECT_TCP if abi >= 4 else 0,
        _ABSTRACT_SOCKETS_AND_SIGNALS if abi >= 6 else 0,
    )
    ruleset = _checked(_CREATE_RULESET, ctypes.c_char_p(attributes), ctypes.c_size_t(24), 0)
    try:
        for path in read:
            if path.exists():
                _allow(ruleset, path, rights & _READING)
        for path in write:
            _allow(ruleset, path, rights)
        launch.prctl(launch.PR_SET_NO_NEW_PRIVS, 1)
        _checked(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)
    return abi


def _file_rights(abi: int) -> int:
    """All file rights of a version: 13 in the first, then REFER, TRUNCATE, IOCTL_DEV (5)."""
    count = {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)
    return (1 << count) - 1


def _allow(ruleset: int, path: Path, rights: int) -> None:
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(parent).st_mode):
            rights &= _RIGHTS_OF_FILES
        rule = ctypes.c_char_p(struct.pack("=Qi", rights, parent))
        _checked(_ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
    finally:
        os.close(parent)


def _checked(*arguments: object) -> int:
    result = _libc.syscall(*arguments)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"landlock: {os.strerror(number)}")
    return result


def drop_capabilities() -> None:
    """Give up all capabilities; with no_new_privs, which this sets, no program gets them back.

    For the calling thread and those it starts later. Root keeps only the ownership of its files.
    """
    launch.prctl(launch.PR_SET_NO_NEW_PRIVS, 1)
    header = ctypes.c_char_p(struct.pack("=Ii", 0x20080522, 0))  # _LINUX_CAPABILITY_VERSION_3
    if _libc.capset(header, ctypes.c_char_p(bytes(24))):
        number = ctypes.get_errno()
        raise OSError(number, f"capset: {os.strerror(number)}")


@dataclass(frozen=True, slots=True)
class Capability:
    """One layer of confinement as `doctor` shows it."""

    name: str
    available: bool
    detail: str


def capabilities() -> tuple[Capability, ...]:
    """What this machine offers, probed, not guessed from version numbers."""
    abi = landlock_abi()
    seccomp = has_seccomp()
    namespaces = probe_pid_namespaces()
    return (
        Capability(
            "landlock",
            abi > 0,
            f"version {abi}" if abi else "not in this kernel: files are guarded by seccomp alone",
        ),
        Capability(
            "seccomp",
            seccomp,
            "allow-list for native code and references"
            if seccomp
            else "refused by the kernel or container: native code runs unguarded",
        ),
        Capability(
            "pid namespaces",
            bool(namespaces),
            namespaces or "not allowed: strays are found by walking the process tree",
        ),
        _bubblewrap(),
    )


def _bubblewrap() -> Capability:
    program = shutil.which("bwrap")
    if program is None:
        return Capability("bubblewrap", False, "bwrap is not installed; nothing depends on it")
    done = subprocess.run(
        [program, "--ro-bind", "/", "/", "--unshare-all", "--die-with-parent", "true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return Capability("bubblewrap", done.returncode == 0, done.stderr.strip() or program)
