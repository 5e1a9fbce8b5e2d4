"""Lochan itself, as a file that executors import it from: they need the version that the driver has.

What it depends on is partly no Python, and must be installed on every machine.
"""

from __future__ import annotations

import atexit
import shutil
import zipfile
from functools import cache
from importlib.util import cache_from_source
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from lochan.store.scratch import make_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_shipped: WeakSet[SparkSession] = WeakSet()


def ship(spark: SparkSession) -> None:
    """To the executors of this session, unless they are in this process."""
    master = spark.conf.get("spark.master", "") or ""
    if spark in _shipped or master.partition("[")[0] == "local":
        return
    spark.addArtifacts(str(package()), pyfile=True)
    _shipped.add(spark)


def remove() -> None:
    """What `package` has made, where it was called. A process that leaves without Python's own ending calls this."""
    if package.cache_info().currsize:
        shutil.rmtree(package().parent, ignore_errors=True)


@cache
def package() -> Path:
    """Of the package that runs here; gone with this process. In a folder that nobody else can write to."""
    root = Path(__file__).parents[2]
    folder = make_folder()
    atexit.register(remove)
    place = Path(folder) / "lochan.zip"
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(root.rglob("*.py")):
            name = Path("lochan") / path.relative_to(root)
            archive.write(path, name)
            compiled = Path(cache_from_source(str(path)))
            if compiled.exists():  # else each of their processes compiles it; where it is of another moment, too
                archive.write(compiled, name.with_suffix(".pyc"))
    return place
