"""Networks."""

from __future__ import annotations

import ipaddress

from lochan.query.compile.functions.call import Function, FunctionCall
from lochan.query.compile.networks import in_network
from lochan.query.compile.sql import surely
from lochan.query.compile.value import Value, boolean


def cidr_match(call: FunctionCall) -> Value:
    network = call[0].constant
    if not isinstance(network, str) or not _is_network(network):
        call.refuse("`cidr_match` takes a network that the query itself says", "such as 10.0.0.0/8", at=0)
    return boolean(surely(in_network(network, call[1])))


def _is_network(value: str) -> bool:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return True


TABLE: dict[str, Function] = {"cidr_match": cidr_match}
