"""A lake from Spark.

    import lochan.spark

    logs = lochan.spark.read(spark, "logs@main", where="status >= 500", columns=["ts", "host"])
    lochan.spark.write(frame, "logs@main", message="from the other system")
    lochan.spark.register_views(spark)            # then: select … from logs_main
    lochan.spark.register(spark)                  # then: spark.read.format("lochan"), df.write.format("lochan")

The lake is the one that the command line would use here (LOCHAN_LAKE, the configuration, the nearest folder), unless
`lake` names another. Nothing but the session that is given is used, so it may be one of Spark Connect.

lakes       which lake, and how to work on it from plain Python
read_plan   what is to be read: the plan of a query that wants every field, in any order
typed_columns  rows of any shape as columns of a frame, with wide_numbers
frames      read, as Spark's own scan of Parquet files
views       every pool as a table of SQL
frame_origin   the commit that a frame was read at, which it carries
write_frame    write, sorted over all machines
source      the data source `lochan`, with source_reader, source_writer, option_names and active_session
tables      Parquet files of a repository, with table_files, table_schema, table_reader and table_job
ingest_stream  a stream into a pool, a commit for each of its batches; `stream` is the same by the data source
job_report     what a job in the user's session tells of itself
diff_frame     rows that differ between two commits, as a frame
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lochan.spark.diff_frame import diff
    from lochan.spark.frames import read
    from lochan.spark.ingest_stream import ingest
    from lochan.spark.source import register
    from lochan.spark.views import register_views
    from lochan.spark.write_frame import write

_WHERE = {
    "diff": "diff_frame",
    "ingest": "ingest_stream",
    "read": "frames",
    "register": "source",
    "register_views": "views",
    "write": "write_frame",
}
__all__ = ["diff", "ingest", "read", "register", "register_views", "write"]


def __getattr__(name: str) -> Any:
    """Whoever imports the package for its data source needs no more than that."""
    module = _WHERE.get(name)
    if module is None:
        raise AttributeError(f"module 'lochan.spark' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"lochan.spark.{module}"), name)
