"""Messages and descriptors between two processes of ours."""

from __future__ import annotations

import os
import socket
import struct
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.runners.errors import KernelwrightError, ProcessLost
from kernelwright.runners.processes.channel import MAX_FDS, MAX_MESSAGE_BYTES, Channel

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.fixture
def ends() -> Iterator[tuple[Channel, Channel]]:
    left, right = Channel.pair()
    yield left, right
    left.close()
    right.close()


@pytest.fixture
def raw() -> Iterator[tuple[socket.socket, Channel]]:
    """A bare socket whose other end is a channel."""
    left, right = socket.socketpair()
    channel = Channel(right)
    yield left, channel
    left.close()
    channel.close()


def wire(body: bytes, fds: int = 0) -> bytes:
    return struct.pack("<II", len(body), fds) + body


@given(st.dictionaries(st.text(), JSON))
def test_any_json_object_survives_the_round_trip(message: dict[str, Any]) -> None:
    left, right = Channel.pair()
    try:
        left.send(message)
        assert right.receive(10) == (message, [])
    finally:
        left.close()
        right.close()


def test_descriptors_arrive_with_the_message_they_were_sent_with(
    ends: tuple[Channel, Channel],
) -> None:
    left, right = ends
    read, write = os.pipe()
    left.send({"n": 0})
    left.send({"n": 1}, [write])
    left.send({"n": 2})
    left.send({"n": 3}, [read, write])
    received = [right.receive(10) for _ in range(4)]
    assert [(message["n"], len(fds)) for message, fds in received] == [
        (0, 0),
        (1, 1),
        (2, 0),
        (3, 2),
    ]
    fds = [fd for _, attached in received for fd in attached]
    assert not any(os.get_inheritable(fd) for fd in fds)
    os.write(fds[0], b"through")
    assert os.read(fds[1], 100) == b"through"
    for fd in [read, write, *fds]:
        os.close(fd)


def test_a_message_in_pieces_is_put_together(raw: tuple[socket.socket, Channel]) -> None:
    sock, channel = raw
    data = wire(b'{"a": [1, 2, 3]}')
    for piece in data[:-1]:
        sock.send(bytes([piece]))
        with pytest.raises(TimeoutError):
            channel.receive(0)
    sock.send(data[-1:] + wire(b'{"b": 4}'))
    assert channel.receive(10)[0] == {"a": [1, 2, 3]}
    assert channel.receive(10)[0] == {"b": 4}


def test_a_message_larger_than_the_socket_buffer_passes(ends: tuple[Channel, Channel]) -> None:
    left, right = ends
    message = {"text": "x" * (4 << 20)}
    sender = threading.Thread(target=left.send, args=(message,))
    sender.start()
    assert right.receive(30)[0] == message
    sender.join()


def test_a_message_that_nobody_reads_times_out_and_closes_the_channel(
    ends: tuple[Channel, Channel],
) -> None:
    left, _ = ends
    with pytest.raises(TimeoutError):
        left.send({"text": "x" * (4 << 20)}, timeout=0)
    with pytest.raises(ProcessLost):
        left.send({})


def test_the_end_of_the_other_process_is_told_as_such(ends: tuple[Channel, Channel]) -> None:
    left, right = ends
    right.close()
    with pytest.raises(ProcessLost):
        left.receive(10)
    with pytest.raises(ProcessLost):
        left.send({})


@pytest.mark.parametrize(
    "data",
    [
        wire(b"{}")[:-1],
        wire(b"not json"),
        wire(b"[]"),
        wire(b"\xff\xff"),
        wire(b"[" * 100_000),
        wire(b"{}", fds=1),
        struct.pack("<II", MAX_MESSAGE_BYTES + 1, 0),
    ],
    ids=["cut", "text", "list", "bytes", "nested", "missing descriptor", "huge"],
)
def test_what_is_no_message_is_refused(raw: tuple[socket.socket, Channel], data: bytes) -> None:
    sock, channel = raw
    sock.sendall(data)
    sock.close()
    with pytest.raises(ProcessLost):
        channel.receive(10)


def test_a_message_over_the_size_limit_is_not_sent(ends: tuple[Channel, Channel]) -> None:
    left, right = ends
    with pytest.raises(KernelwrightError, match="too large"):
        left.send({"text": "x" * MAX_MESSAGE_BYTES})
    with pytest.raises(KernelwrightError, match="descriptors"):
        left.send({}, [0] * (MAX_FDS + 1))
    left.send({"still": "usable"})
    assert right.receive(10)[0] == {"still": "usable"}
