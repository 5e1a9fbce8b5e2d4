"""Who sends a request, as far as rights depend on it: the user, the access key and its session, and the address."""

from typing import NamedTuple


class Requester(NamedTuple):
    user: str
    key: str  # the id of the access key that they came by; "": no key is known, and none narrows what they may do
    limits: tuple[tuple[str, ...], ...] = ()  # of a session: patterns of resources, one of each must fit
    address: str = ""  # without the port; "": it is not known


def address_of(source: str) -> str:
    """Of a client, as Granian writes it: `127.0.0.1:4711`, `[::1]:4711`."""
    host = source.rpartition(":")[0] if source.count(":") == 1 or source.startswith("[") else source
    return host.strip("[]")
