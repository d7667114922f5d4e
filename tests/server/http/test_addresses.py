"""Addresses: loopback unless names are said, and every way to write one."""

from __future__ import annotations

import pytest

from kernelwright.runners.errors import SpecError
from kernelwright.server.http.addresses import Address, listening_at, read_address, same_site


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("8765", Address("127.0.0.1", 8765)),
        (":0", Address("127.0.0.1", 0)),
        ("localhost:80", Address("localhost", 80)),
        ("[::1]:65535", Address("::1", 65535)),
    ],
)
def test_an_address_is_a_port_and_perhaps_a_host(text: str, address: Address) -> None:
    assert read_address(text) == address


@pytest.mark.parametrize("text", ["", "host", "host:", "1:x", "65536", "-1", "127.0.0.1:80/mcp"])
def test_what_is_no_address_is_told_with_one(text: str) -> None:
    with pytest.raises(SpecError, match=r"127\.0\.0\.1:8765"):
        read_address(text)


def test_a_host_that_others_reach_says_under_which_name() -> None:
    with pytest.raises(SpecError, match="--allow-host"):
        read_address("0.0.0.0:80")
    address = read_address("0.0.0.0:80", ["gpu.lab:80"])
    settings = same_site(address)
    assert settings.enable_dns_rebinding_protection and settings.allowed_hosts == ["gpu.lab:80"]
    assert settings.allowed_origins == ["http://gpu.lab:80", "https://gpu.lab:80"]


def test_a_name_of_a_proxy_joins_those_of_loopback() -> None:
    hosts = same_site(read_address("8765", ["gpu.lab"])).allowed_hosts
    assert "gpu.lab" in hosts and "127.0.0.1:*" in hosts and "*" not in hosts


def test_a_port_that_is_taken_is_told() -> None:
    with listening_at(Address("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(SpecError, match="another port"):
            listening_at(Address("127.0.0.1", port))
