"""Where Spark runs, and whether it can run here at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from lochan.errors import Refused

THRESHOLD_BYTES = 256_000_000


class SparkPlace(NamedTuple):
    """What a session that is there already was started with stays as it is."""

    master: str = "local[*]"
    remote: str = ""  # a Spark Connect server, instead of a master
    threshold_bytes: int = THRESHOLD_BYTES  # `auto` takes Spark on a cluster for what reads more
    options: Mapping[str, str] = {}  # of Spark's own, for a new session
    local_threshold_bytes: int | None = None  # and Spark on this machine; None: for what fits neither memory nor disk

    @property
    def where(self) -> str:
        return self.remote or self.master

    @property
    def is_here(self) -> bool:
        """It reads the files of this machine."""
        return not self.remote and self.master.partition("[")[0] == "local"


STANDARD = SparkPlace()


def why_not(place: SparkPlace) -> Refused | None:
    """What keeps Spark from running; None: nothing that is known before it is tried."""
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
