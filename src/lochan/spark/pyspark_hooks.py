"""Two things that pyspark must be told for the data source.

The session in which a data source is looked for when a frame is written: Spark takes the one that is active on the
thread, and on a thread that the user has started there is none. So the frame's own session is made the active one
there, as `createDataFrame` does it.

The names of options as they were written: Spark hands them over in small letters, and what a commit carries has names
of its user's own (`metadata.Owner`). Spark fills a dictionary of its own class, name by name, in the process that it
starts for a source, once that was imported; so the class is made to remember how each was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import CaseInsensitiveDict

_ACTIVATES = "_lochan_activates"
_AS_WRITTEN = "_lochan_as_written"


def activate_for(name: str) -> None:
    """For frames and streams that are written in that format, without Connect. May be called more than once."""
    from pyspark.sql.readwriter import DataFrameWriter
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    for writer in (DataFrameWriter, DataStreamWriter):
        if not hasattr(writer, _ACTIVATES):
            _activate(writer, name)
            setattr(writer, _ACTIVATES, True)


def _activate(writer: Any, name: str) -> None:
    before = writer.format

    def format(self: Any, source: str) -> Any:
        if source.lower() == name:
            self._spark.createDataFrame([], "a int")
        return before(self, source)

    writer.format = format


def remember_names() -> None:
    """May be called more than once."""
    if not hasattr(CaseInsensitiveDict, _AS_WRITTEN):
        setattr(CaseInsensitiveDict, _AS_WRITTEN, None)
        set_item = CaseInsensitiveDict.__setitem__

        def remembering(self: Any, key: str, value: Any) -> None:
            set_item(self, key, value)
            vars(self).setdefault(_AS_WRITTEN, {})[key.lower()] = key

        CaseInsensitiveDict.__setitem__ = remembering  # type: ignore[method-assign]


def as_written(options: Mapping[str, str]) -> dict[str, str]:
    """In small letters, if nothing else is known."""
    names = vars(options).get(_AS_WRITTEN) if hasattr(options, "__dict__") else None
    return {(names or {}).get(name, name): value for name, value in options.items()}
