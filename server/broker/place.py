"""Where the broker of a state folder is found: a socket with the user's rights, and a lock.

The lock says who is the broker; the socket, where. Both lie in the state folder, whose path may be
longer than the 107 bytes that a socket's may have: it is reached through the folder's descriptor.
"""

from __future__ import annotations

import fcntl
import os
import socket
import struct
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from ...runners.errors import AccessError

CREDENTIALS = struct.Struct("3i")
"""of a peer: process, user, group"""
BACKLOG = 256


@dataclass(frozen=True, slots=True)
class Taken:
    """What the broker alone has: the lock, as an open descriptor, and where it listens."""

    lock: int
    listening: socket.socket
    inode: int
    """of the socket, by which it is known that it is there still"""


@dataclass(frozen=True, slots=True)
class Place:
    """The files of a broker in one state folder."""

    outdir: Path

    @property
    def socket(self) -> Path:
        """Where it listens."""
        return self.outdir / "broker.sock"

    @property
    def lock(self) -> Path:
        """Held by the broker as long as it lives, with its process number in it."""
        return self.outdir / "broker.lock"

    @property
    def log(self) -> Path:
        """What it and its children say."""
        return self.outdir / "broker.log"

    def connected(self) -> socket.socket | None:
        """A connection to the broker; None: none is there. Raises AccessError for one of another
        user."""
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            owner = self.socket.stat().st_uid
            if owner != os.getuid():
                raise self._foreign(owner)
            with self._near() as path:
                made.connect(path)
            if peer_of(made) != os.getuid():
                raise self._foreign(peer_of(made))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            made.close()
            return None
        except BaseException:
            made.close()
            raise
        return made

    def taken(self) -> Taken | None:
        """The broker's place, ours from now on; None: somebody has it. Raises OSError."""
        lock = self.locked()
        if lock is None:
            return None
        listening = self.listening()
        return Taken(lock, listening, self.socket.stat().st_ino)

    def listening(self) -> socket.socket:
        """A socket for the broker, which must hold the lock. Raises OSError."""
        with suppress(FileNotFoundError):
            self.socket.unlink()  # of a broker that was killed: whoever has the lock is alone
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        before = os.umask(0o177)
        try:
            with self._near() as path:
                made.bind(path)
        finally:
            os.umask(before)
        made.listen(BACKLOG)
        return made

    def locked(self) -> int | None:
        """The lock, as a descriptor to keep open; None: somebody has it. Raises OSError."""
        lock = os.open(self.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            return None
        os.ftruncate(lock, 0)
        os.write(lock, str(os.getpid()).encode())
        return lock

    @contextmanager
    def _near(self) -> Generator[str]:
        """A short path of the socket, while the body runs."""
        folder = os.open(self.outdir, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{folder}/{self.socket.name}"
        finally:
            os.close(folder)

    def _foreign(self, owner: int) -> AccessError:
        return AccessError(
            f"{self.socket} belongs to user {owner}, and what is sent there could be anything",
            next_step="remove it, or take a state folder of your own with --outdir",
        )


def peer_of(connection: socket.socket) -> int:
    """The user at the other end."""
    sent = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size)
    return int(CREDENTIALS.unpack(sent)[1])
