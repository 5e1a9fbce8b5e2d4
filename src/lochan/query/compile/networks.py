"""Whether an address lies in a network. Addresses are kept in digits that order as addresses do."""

from __future__ import annotations

import ipaddress

from sqlglot import exp

from lochan.pools.shape import STRING
from lochan.query.compile.sql import IP, Sql, all_of, any_of, op, text
from lochan.query.compile.value import Value, address_digits
from lochan.query.dialects.neutral import neutral


def in_network(network: str, value: Value) -> Sql:
    """An address lies between the first and the last of the network."""
    net = ipaddress.ip_network(network, strict=False)
    tests = []
    for address in _addresses(value):
        low, high = (text(address_digits(str(each))) for each in (net.network_address, net.broadcast_address))
        tests.append(all_of([op(exp.GTE, address, low), op(exp.LTE, address, high)]))
    return any_of(tests)


def _addresses(value: Value) -> list[Sql]:
    found = [value.alts[IP]] if IP in value.alts else []
    if STRING in value.alts:
        found.append(neutral("ip_digits", value.alts[STRING]))
    return found
