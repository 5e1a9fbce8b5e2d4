"""Sets up a lake as a catalog of a session: the settings, and the jar that they name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from lochan.errors import NotFound

CLASS = "lochan.spark.LochanCatalog"
JAR = Path(__file__).parent / "jars" / "lochan-catalog.jar"


def catalog_jar() -> str:
    """Returns the path for `spark.jars`. Raises NotFound if the jar was not built."""
    if not JAR.exists():
        raise NotFound("the catalog's jar is not part of this installation", hint="build it with `python jvm/build.py`")
    return str(JAR)


def catalog_settings(
    name: str = "lake", *, lake: str | os.PathLike[str] | None = None, options: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Returns settings for `SparkSession.builder.config(map=…)`: then `SELECT … FROM lake.logs` reads the pool `logs`.

    The lake is the one that the command line would use, unless `lake` names another; `options` are those of its
    store."""
    prefix = f"spark.sql.catalog.{name}"
    settings = {"spark.jars": catalog_jar(), prefix: CLASS}
    if lake is not None:
        settings[f"{prefix}.lake"] = os.fspath(lake)
    return settings | {f"{prefix}.{key}": value for key, value in (options or {}).items()}
