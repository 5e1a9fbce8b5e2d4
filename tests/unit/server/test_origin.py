"""Which of the addresses in X-Forwarded-For is believed, and when."""

from __future__ import annotations

import pytest

from lochan.errors import Invalid
from lochan.server.origin import TrustedProxies

TRUSTED = ("10.0.0.0/24", "192.168.7.1", "2001:db8::/64")


@pytest.mark.parametrize(
    "client, headers, origin",
    [
        ("203.0.113.9:4711", ["198.51.100.1"], "203.0.113.9:4711"),  # a stranger claims something
        ("10.0.1.1:4711", ["198.51.100.1"], "10.0.1.1:4711"),  # beside the network
        ("10.0.0.7:4711", [], "10.0.0.7:4711"),  # the proxy itself asks
        ("10.0.0.7:4711", [""], "10.0.0.7:4711"),
        ("10.0.0.7:4711", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7:4711", ["127.0.0.1, 198.51.100.1"], "198.51.100.1"),  # the client claimed to be this machine
        ("10.0.0.7:4711", ["10.0.0.9, 198.51.100.1"], "198.51.100.1"),  # or a proxy
        ("10.0.0.7:4711", ["198.51.100.1, 192.168.7.1"], "198.51.100.1"),  # through two of them
        ("10.0.0.7:4711", ["198.51.100.1", "192.168.7.1"], "198.51.100.1"),  # in a header each
        ("10.0.0.7:4711", ["10.0.0.3, 10.0.0.4"], "10.0.0.3"),  # from inside
        ("10.0.0.7:4711", ["198.51.100.1:3322"], "198.51.100.1"),
        ("10.0.0.7:4711", ["[2001:db8:1::5]:3322"], "2001:db8:1::5"),
        ("10.0.0.7:4711", ["2001:db8:1::5"], "2001:db8:1::5"),
        ("10.0.0.7:4711", ["::ffff:198.51.100.1"], "198.51.100.1"),
        ("[2001:db8::2]:4711", ["198.51.100.1"], "198.51.100.1"),
        ("[::ffff:10.0.0.7]:4711", ["198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7:4711", ["198.51.100.1, unknown"], ""),  # nobody knows
        ("10.0.0.7:4711", ["198.51.100.1, <script>"], ""),
        ("10.0.0.7:4711", ["1, " * 100_000 + "198.51.100.1"], "198.51.100.1"),
        ("10.0.0.7:4711", ["198.51.100.1, " + "10.0.0.1, " * 100_000], "10.0.0.1"),  # no end of claims is read
    ],
)
def test_the_origin(client: str, headers: list[str], origin: str) -> None:
    assert TrustedProxies(TRUSTED).origin(client, lambda: headers) == origin


def test_without_proxies_nothing_is_read() -> None:
    def read() -> list[str]:
        raise AssertionError

    assert not TrustedProxies()
    assert TrustedProxies().origin("10.0.0.7:1", read) == "10.0.0.7:1"
    assert TrustedProxies(TRUSTED).origin("203.0.113.9:1", read) == "203.0.113.9:1"


@pytest.mark.parametrize("wrong", ["proxy.example.org", "10.0.0.0/33", "10.0.0.7/24", "*"])
def test_what_is_no_network_is_refused(wrong: str) -> None:
    with pytest.raises(Invalid, match=r"server\.trusted_proxies"):
        TrustedProxies([wrong])
