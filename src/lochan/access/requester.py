"""The sender of a request, as far as rights depend on it: the user, the access key and its session, and the address."""

from typing import NamedTuple

from lochan.formats.record import address_of as address_of


class Requester(NamedTuple):
    user: str
    key: str  # the id of the access key that they came by; "": no key is known, and none narrows what they may do
    limits: tuple[tuple[str, ...], ...] = ()  # of a session: patterns of resources, one of each must fit
    address: str = ""  # without the port; "": it is not known
