"""A lake from Spark.

    import lochan.spark

    logs = lochan.spark.read(spark, "logs@main", where="status >= 500", columns=["ts", "host"])
    lochan.spark.write(frame, "logs@main", message="from the other system")
    lochan.spark.update(spark, "logs@main", {"status": "500"}, where="status = 501")
    lochan.spark.register_views(spark)            # then: select … from logs_main
    lochan.spark.register(spark)                  # then: spark.read.format("lochan"), df.write.format("lochan")

The lake is the one that the command line would use here (LOCHAN_LAKE, the configuration, the nearest folder), unless
`lake` names another. Nothing but the session that is given is used, so it may be one of Spark Connect.

All of this goes through the verbs of `lochan.api.frames`; what runs on Spark is in `lochan.jobs` and
`lochan.engines.spark`.

frames          read, metadata, register_views, diff
write_frame     write, and which columns can be kept
row_changes     delete, update and merge, with table_changes and merge_clauses
ingest_stream   a stream into a pool, a commit for each of its batches
batch_function  a stream whose batches a function writes to several pools
feed_frames     a pool as a stream, and what its commits changed
catalog         a lake as a catalog of SQL; catalog_server answers its part that runs in the JVM
source          the data source `lochan`, with source_writer and pyspark_hooks
feed_source     the data source of streams out of a pool, with stream_reader
source          the data source `lochan` in Python, with source_writer, source_options and pyspark_hooks;
                source_server answers its part that runs in the JVM
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lochan.spark.batch_function import foreach_batch
    from lochan.spark.catalog import catalog_jar, catalog_settings
    from lochan.spark.feed_frames import changes, read_stream
    from lochan.spark.frames import diff, metadata, read, register_views
    from lochan.spark.ingest_stream import ingest
    from lochan.spark.row_changes import delete, merge, update
    from lochan.spark.source import register
    from lochan.spark.write_frame import write

_MODULES = {
    "catalog_jar": "catalog",
    "catalog_settings": "catalog",
    "changes": "feed_frames",
    "delete": "row_changes",
    "diff": "frames",
    "foreach_batch": "batch_function",
    "ingest": "ingest_stream",
    "merge": "row_changes",
    "metadata": "frames",
    "read": "frames",
    "read_stream": "feed_frames",
    "register": "source",
    "register_views": "frames",
    "update": "row_changes",
    "write": "write_frame",
}
__all__ = [
    "catalog_jar",
    "catalog_settings",
    "changes",
    "delete",
    "diff",
    "foreach_batch",
    "ingest",
    "merge",
    "metadata",
    "read",
    "read_stream",
    "register",
    "register_views",
    "update",
    "write",
]


def __getattr__(name: str) -> Any:
    """Imports a name's module when it is first used, so that a program which imports the package for its data source
    loads only that."""
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module 'lochan.spark' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"lochan.spark.{module}"), name)
