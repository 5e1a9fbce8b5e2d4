"""Whether somebody listens where Spark is said to be: Spark itself would try for a minute before it gives up."""

from __future__ import annotations

import socket
from contextlib import closing

from lochan.engines.spark.place import SparkPlace
from lochan.errors import Refused

_SECONDS = 5.0
_PORTS = {"spark": 7077, "sc": 15002}


def check_answers(place: SparkPlace) -> None:
    """Raises Refused where none of the addresses answers. Of other masters nothing is known before they are tried."""
    url = place.remote or place.master
    scheme, separator, rest = url.partition("://")
    if not separator or scheme not in _PORTS:
        return
    why = ""
    for address in rest.partition("/")[0].split(","):
        why = _why_not(address, _PORTS[scheme])
        if not why:
            return
    what = "Spark Connect server" if place.remote else "Spark master"
    raise Refused(f"no {what} answers at {url}: {why}", hint="is it up? `--master local[*]` runs it on this machine")


def _why_not(address: str, port: int) -> str:
    host, _, given = address.rpartition(":") if ":" in address else (address, "", str(port))
    if not given.isdigit():
        return f"{given!r} is no port"
    try:
        with closing(socket.create_connection((host, int(given)), _SECONDS)):
            return ""
    except OSError as error:
        return error.strerror or str(error)
