"""Which session a data source is looked for in, where a frame is written: Spark takes the one that is active on the
thread, and on a thread that the user has started there is none.

So whoever asks for our format has his frame's own session made the active one there, as `createDataFrame` does it.
"""

from __future__ import annotations

from typing import Any

_DONE = "_lochan_activates"


def activate_for(name: str) -> None:
    """Where a frame or a stream is written in that format, without Connect. May be called more than once."""
    from pyspark.sql.readwriter import DataFrameWriter
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    for writer in (DataFrameWriter, DataStreamWriter):
        if not hasattr(writer, _DONE):
            _activate(writer, name)
            setattr(writer, _DONE, True)


def _activate(writer: Any, name: str) -> None:
    before = writer.format

    def format(self: Any, source: str) -> Any:
        if source.lower() == name:
            self._spark.createDataFrame([], "a int")
        return before(self, source)

    writer.format = format
