"""Where to listen, and by which names clients may call the server."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mcp.server.transport_security import TransportSecuritySettings

from ...runners.errors import SpecError

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen, and by which names clients may call it."""

    host: str
    port: int
    """0: any that is free"""
    names: tuple[str, ...] = ()
    """of a proxy in front, or of this machine where `host` is not loopback: with the port, where
    clients name one"""


def read_address(text: str, names: Sequence[str] = ()) -> Address:
    """`HOST:PORT` or `PORT`. Raises SpecError where it is neither, or where a host that is not
    loopback has no names: other sites' pages in a browser could then call it under any."""
    host, _, port = text.rpartition(":")
    host = host.strip("[]") or LOOPBACK[0]
    if not port.isdecimal() or int(port) > 65535:
        raise SpecError(f"`{text}` is no address", valid="PORT or HOST:PORT, as 127.0.0.1:8765")
    if host not in LOOPBACK and not names:
        raise SpecError(
            f"{host} can be reached from other machines, and nothing says under which name",
            valid="--allow-host NAME:PORT, as clients write it in their URL; repeatable",
            next_step="name it, or listen on 127.0.0.1 and go through `ssh -L` or a proxy with TLS",
        )
    return Address(host, int(port), tuple(names))


def same_site(address: Address) -> TransportSecuritySettings:
    """Names of this server alone: a page of another site that a browser shows here sends its own
    (DNS rebinding)."""
    loopback = ["127.0.0.1:*", "localhost:*", "[::1]:*"]
    hosts = [*loopback, *address.names] if address.host in LOOPBACK else list(address.names)
    origins = [f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(allowed_hosts=hosts, allowed_origins=origins)


def listening_at(address: Address) -> socket.socket:
    """A socket that listens. Raises SpecError where the address cannot be had."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((address.host, address.port))
    except OSError as error:
        listening.close()
        raise SpecError(
            f"{address.host}:{address.port} cannot be listened on: {error.strerror}",
            next_step="take another port, or 0 for any that is free",
        ) from error
    listening.listen()
    return listening
