"""A lake from Spark.

    import lochan.spark

    logs = lochan.spark.read(spark, "logs@main", where="status >= 500", columns=["ts", "host"])
    lochan.spark.write(frame, "logs@main", message="from the other system")
    lochan.spark.register_views(spark)            # then: select … from logs_main
    lochan.spark.register(spark)                  # then: spark.read.format("lochan"), df.write.format("lochan")

The lake is the one that the command line would use here (LOCHAN_LAKE, the configuration, the nearest folder), unless
`lake` names another. Nothing but the session that is given is used, so it may be one of Spark Connect.

All of this goes through the verbs of `lochan.api.frames`; what runs on Spark is in `lochan.jobs` and
`lochan.engines.spark`.

frames          read, register_views, diff
write_frame     write, and which columns can be kept
ingest_stream   a stream into a pool, a commit for each of its batches
catalog         a lake as a catalog of SQL; catalog_server answers its part that runs in the JVM
source          the data source `lochan` in Python, with source_writer, source_options and pyspark_hooks;
                source_server answers its part that runs in the JVM
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lochan.spark.catalog import catalog_jar, catalog_settings
    from lochan.spark.frames import diff, read, register_views
    from lochan.spark.ingest_stream import ingest
    from lochan.spark.source import register
    from lochan.spark.write_frame import write

_MODULES = {
    "catalog_jar": "catalog",
    "catalog_settings": "catalog",
    "diff": "frames",
    "ingest": "ingest_stream",
    "read": "frames",
    "register": "source",
    "register_views": "frames",
    "write": "write_frame",
}
__all__ = ["catalog_jar", "catalog_settings", "diff", "ingest", "read", "register", "register_views", "write"]


def __getattr__(name: str) -> Any:
    """Whoever imports the package for its data source needs no more than that."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'lochan.spark' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"lochan.spark.{module}"), name)
