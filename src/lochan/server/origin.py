"""Finds the origin of a request, if a proxy has passed it on.

    client ──▶ proxy ──▶ server      X-Forwarded-For: what the client claims, …, what the last proxy has seen

Anybody can send the header. So it is believed as far as trusted proxies have written it: from its end, address by
address, until one is not a trusted proxy. That one is the client. What comes before it is only a claim. On a connection
from anybody else, the header is not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from lochan.access.requester import address_of
from lochan.errors import Invalid

HEADER: Final = "x-forwarded-for"
_LENGTH_MAX, _HOPS_MAX = 2_048, 32
Network = IPv4Network | IPv6Network


class TrustedProxies:
    def __init__(self, networks: Sequence[str] = ()) -> None:
        self._networks = tuple(map(_network, networks))
        self._trusts = lru_cache(maxsize=1_024)(self._is_inside)

    def __bool__(self) -> bool:
        return bool(self._networks)

    def origin(self, client: str, forwarded: Callable[[], Iterable[str]]) -> str:
        """Returns the origin of a request. `client` is the client of the connection, with its port. An address that a
        proxy has seen comes without a port. The origin is empty if a trusted proxy has written something that is not an
        address, because it is then unknown."""
        if not self._networks or not self._trusts(address_of(client)):
            return client
        hops = ",".join(forwarded())[-_LENGTH_MAX:].split(",")[-_HOPS_MAX:]
        nearest = client
        for hop in reversed([each.strip() for each in hops if each.strip()]):
            found = _address(hop)
            if not found or not self._trusts(found):
                return found
            nearest = found
        return nearest

    def _is_inside(self, address: str) -> bool:
        found = _address(address)
        return bool(found) and any(ip_address(found) in network for network in self._networks)


def _network(text: str) -> Network:
    try:
        return ip_network(text)
    except ValueError:
        raise Invalid(
            f"server.trusted_proxies: {text!r} is no address and no network", hint="such as 10.0.0.7 or 10.0.0.0/24"
        ) from None


def _address(text: str) -> str:
    """Returns an address without a port. An IPv4 address in the form of IPv6 is returned as IPv4. Returns an empty
    string if the text is not an address."""
    try:
        found = ip_address(address_of(text).partition("%")[0])
    except ValueError:
        return ""
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return str(mapped or found)
