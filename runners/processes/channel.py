"""A message channel between two of our processes.

A message is one JSON object, with a few file descriptors attached where needed. On the wire:
eight bytes of header (length of the body, number of descriptors; the descriptors travel with
the header), then the body as UTF-8 JSON. The header is always read alone, so descriptors can
not slip to a neighbouring message.

One thread at a time may use a channel.
"""

from __future__ import annotations

import array
import json
import os
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from ..errors import KernelwrightError, ProcessLost

Answer = tuple[dict[str, Any], list[int]]
"""a message and the descriptors that go with it"""
MAX_MESSAGE_BYTES = 64 << 20
MAX_FDS = 16
_HEADER = struct.Struct("<II")
_CHUNK_BYTES = 1 << 20


class Channel:
    """One end of an AF_UNIX stream socket pair that carries JSON objects and descriptors.

    `receive` keeps what has arrived of a message when it times out; the next call goes on from
    there. A `send` that times out leaves half a message behind and therefore closes the channel.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._head = bytearray()
        self._body = bytearray()
        self._fds: list[int] = []

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Two connected ends; both are close-on-exec."""
        left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        return cls(left), cls(right)

    @classmethod
    def from_fd(cls, fd: int) -> Channel:
        """The end that our parent passed on as descriptor `fd`; not inherited further."""
        os.set_inheritable(fd, False)
        return cls(socket.socket(fileno=fd))

    def fileno(self) -> int:
        """The descriptor, for select and for passing on; -1 after `close`."""
        return self._sock.fileno()

    def send(
        self, message: dict[str, Any], fds: Sequence[int] = (), timeout: float | None = None
    ) -> None:
        """Send one object; the receiver gets duplicates of `fds`.

        Raises KernelwrightError for a message that is too large, ProcessLost when the other end
        is gone, TimeoutError when it did not read for `timeout` seconds in all.
        """
        body = json.dumps(message, separators=(",", ":")).encode()
        if len(body) > MAX_MESSAGE_BYTES:
            raise KernelwrightError(
                f"a message of {len(body)} bytes is too large for a channel",
                valid=f"at most {MAX_MESSAGE_BYTES} bytes of JSON",
                next_step="pass large data through shared memory or a file descriptor",
            )
        if len(fds) > MAX_FDS:
            raise KernelwrightError(
                f"{len(fds)} file descriptors on one message", valid=f"at most {MAX_FDS}"
            )
        deadline = _deadline(timeout)
        try:
            self._send_bytes(_HEADER.pack(len(body), len(fds)), fds, deadline)
            self._send_bytes(body, (), deadline)
        except TimeoutError:
            self.close()
            raise
        except (BrokenPipeError, ConnectionError) as error:
            raise ProcessLost("the process at the other end of the channel is gone") from error

    def receive(self, timeout: float | None = None) -> tuple[dict[str, Any], list[int]]:
        """The next object and its descriptors (close-on-exec; the caller closes them).

        Raises ProcessLost when the other end has closed or sends what is no message, TimeoutError
        when no whole message arrived within `timeout` seconds (None: wait for ever).
        """
        deadline = _deadline(timeout)
        while len(self._head) < _HEADER.size:
            self._head += self._read(_HEADER.size - len(self._head), MAX_FDS, deadline)
        length, count = cast("tuple[int, int]", _HEADER.unpack(self._head))
        if length > MAX_MESSAGE_BYTES or count != len(self._fds):
            raise self._refuse(f"announced {length} bytes and {count} descriptors")
        while len(self._body) < length:
            self._body += self._read(min(length - len(self._body), _CHUNK_BYTES), 0, deadline)
        try:
            message: object = json.loads(self._body)
        except (ValueError, RecursionError) as error:
            raise self._refuse("sent a body that is not JSON") from error
        if not isinstance(message, dict):
            raise self._refuse("sent JSON that is not an object")
        fds, self._fds = self._fds, []
        self._head.clear()
        self._body = bytearray()
        return cast("dict[str, Any]", message), fds

    def close(self) -> None:
        """Close this end and any descriptors of a half-received message; may be called again."""
        for fd in self._fds:
            os.close(fd)
        self._fds = []
        self._sock.close()

    def _send_bytes(self, data: bytes, fds: Sequence[int], deadline: float | None) -> None:
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
        view = memoryview(data)
        while view:
            self._await(select.POLLOUT, deadline)
            try:
                sent = self._sock.sendmsg([view], rights, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
            except BlockingIOError:
                continue
            rights = []
            view = view[sent:]

    def _read(self, size: int, max_fds: int, deadline: float | None) -> bytes:
        """At most `size` bytes, at least one; descriptors that come along are kept."""
        flags = socket.MSG_DONTWAIT | socket.MSG_CMSG_CLOEXEC
        while True:
            self._await(select.POLLIN, deadline)
            try:
                if not max_fds:  # descriptors on a body are dropped by the kernel
                    data = self._sock.recv(size, flags)
                else:
                    data = self._read_with_fds(size, max_fds, flags)
            except BlockingIOError:
                continue
            except ConnectionError as error:
                raise ProcessLost("the process at the other end of the channel is gone") from error
            if not data:
                raise ProcessLost("the process at the other end closed the channel")
            return data

    def _read_with_fds(self, size: int, max_fds: int, flags: int) -> bytes:
        """As socket.recv_fds, which ignores its flags (Python 3.11) and so would let the
        descriptors leak into other children."""
        room = socket.CMSG_SPACE(max_fds * array.array("i").itemsize)
        data, items, _, _ = self._sock.recvmsg(size, room, flags)
        for level, kind, content in items:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                fds = array.array("i")
                fds.frombytes(content[: len(content) - len(content) % fds.itemsize])
                self._fds += fds
        return data

    def _await(self, event: int, deadline: float | None) -> None:
        if self._sock.fileno() < 0:
            raise ProcessLost("this channel is closed")
        poll = select.poll()
        poll.register(self._sock, event)
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poll.poll(left):
            raise TimeoutError("no message within the time given")

    def _refuse(self, what: str) -> ProcessLost:
        self.close()
        return ProcessLost(f"the process at the other end {what}; the channel is closed")


def serve(
    channel: Channel,
    answer: Callable[[dict[str, Any], list[int]], Answer],
    over: Callable[[], bool] = lambda: False,
) -> None:
    """Answer every message until the other end is gone, or it is `over`.

    The descriptors of a message and of its answer are closed once it is answered.
    """
    try:
        while not over():
            message, fds = channel.receive()
            reply, out = answer(message, fds)
            channel.send(reply, out)
            for fd in (*fds, *out):
                os.close(fd)
    except ProcessLost:
        return


def _deadline(timeout: float | None) -> float | None:
    return None if timeout is None else time.monotonic() + timeout
