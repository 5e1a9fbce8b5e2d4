"""Where Spark runs, by what the user gave: an option, the configuration, or Spark's own variable."""

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lochan.config.values import Config
    from lochan.engines.spark.place import SparkPlace


def spark_place(config: "Config", master: str | None = None) -> "SparkPlace":
    """A master that was named wins over a Connect server, and the configuration over SPARK_REMOTE."""
    from lochan.engines.spark.place import SparkPlace

    remote = "" if master else config.optional_text("spark.remote") or ""
    if not (master or remote or config.is_set("spark.master")):
        remote = os.environ.get("SPARK_REMOTE", "")
    packages = config.optional_text("spark.packages")
    options = {"spark.jars.packages": packages} if packages else {}
    thresholds = config.size("spark.threshold"), config.optional_size("spark.local_threshold")
    return SparkPlace(master or config.text("spark.master"), remote, thresholds[0], options, thresholds[1])
