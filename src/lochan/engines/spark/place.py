"""The place where Spark runs, whether it can run here at all, and whether a server answers there."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from lochan.errors import Refused

THRESHOLD_BYTES = 256_000_000
TASK_MEMORY = "spark.lochan.task.memory"  # the setting of a session for the memory of one task
_ANSWER_S = 5.0
_PORTS = {"spark": 7077, "sc": 15002}


class SparkPlace(NamedTuple):
    """The place where Spark runs, with its options. A session that already exists keeps the settings that it was
    started with."""

    master: str = "local[*]"
    remote: str = ""  # a Spark Connect server, instead of a master
    threshold_bytes: int = THRESHOLD_BYTES  # `auto` uses Spark on a cluster for work that reads more
    options: Mapping[str, str] = {}  # options of Spark itself, for a new session
    local_threshold_bytes: int | None = None  # on this machine; None for work that fits neither memory nor disk

    @property
    def where(self) -> str:
        return self.remote or self.master

    @property
    def is_here(self) -> bool:
        """Whether it reads the files of this machine."""
        return not self.remote and self.master.partition("[")[0] == "local"


STANDARD = SparkPlace()


def why_not(place: SparkPlace) -> Refused | None:
    """Returns the reason why Spark cannot run, or None if none is known before it is tried."""
    if find_spec("pyspark") is None:
        return Refused("queries on Spark need the package pyspark", hint="pip install 'lochan[spark]'")
    if place.remote:
        return None
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else "java"
    if shutil.which(program) is None:
        hint = "install Java 17, or set JAVA_HOME; `lochan doctor --spark` tells more"
        return Refused(f"queries on Spark need Java, and {program} is not there", hint=hint)
    return None


def check_answers(place: SparkPlace) -> None:
    """Raises Refused if no address answers, because Spark itself would try for a minute before it gives up. For other
    masters that is not known before they are tried."""
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
    import socket
    from contextlib import closing

    host, _, given = address.rpartition(":") if ":" in address else (address, "", str(port))
    if not given.isdigit():
        return f"{given!r} is no port"
    try:
        with closing(socket.create_connection((host, int(given)), _ANSWER_S)):
            return ""
    except OSError as error:
        return error.strerror or str(error)
