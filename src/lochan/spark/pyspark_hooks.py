"""Two changes to pyspark that the data source needs.

The first is the session in which a data source is looked up when a frame is written: Spark uses the one that is active
on the thread, and a thread that the user has started has none. So the frame's own session is activated there, as
`createDataFrame` does.

The second is the spelling of option names: Spark passes them in lower case, but the metadata of a commit has names of
its user's own (`metadata.Owner`). In the process that it starts for a source, Spark fills a dictionary of its own
class, name by name, once that was imported. So the class is changed to remember how each name was written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql.datasource import CaseInsensitiveDict

_ACTIVATES = "_lochan_activates"
_AS_WRITTEN = "_lochan_as_written"


def activate_for(name: str) -> None:
    """Patches the writers of frames and streams in that format, without Connect. Calling it again does nothing."""
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
    """Patches the dictionary of options. Calling it again does nothing."""
    if not hasattr(CaseInsensitiveDict, _AS_WRITTEN):
        setattr(CaseInsensitiveDict, _AS_WRITTEN, None)
        set_item = CaseInsensitiveDict.__setitem__

        def remembering(self: Any, key: str, value: Any) -> None:
            set_item(self, key, value)
            vars(self).setdefault(_AS_WRITTEN, {})[key.lower()] = key

        CaseInsensitiveDict.__setitem__ = remembering  # type: ignore[method-assign]


def as_written(options: Mapping[str, str]) -> dict[str, str]:
    """Returns the options with their names as written, or in lower case if that is not known."""
    names = vars(options).get(_AS_WRITTEN) if hasattr(options, "__dict__") else None
    return {(names or {}).get(name, name): value for name, value in options.items()}
