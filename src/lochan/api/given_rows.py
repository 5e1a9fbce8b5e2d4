"""The kinds of values that can be given as rows: dicts, data frames, anything that supports Arrow, files.

dicts                                a list, a generator, any iterable
tables                               pandas, Polars, Arrow, a relation of DuckDB, a result of a query: anything with
                                     `__arrow_c_stream__` or `__arrow_c_array__`; they are read batch by batch
files                                paths, globs, folders, URLs such as s3://bucket/logs/, open files"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any

from lochan.errors import Invalid

if TYPE_CHECKING:
    from lochan.api.load_sources import Given

_HINT = "give a data frame, an Arrow table, an iterable of dicts, or paths of files"


def given_files(rows: Any) -> Sequence[Given]:
    """Returns the files, if files were given, or else nothing."""
    if isinstance(rows, str | PathLike) or _is_open_file(rows):
        return (rows,)
    if isinstance(rows, list | tuple) and rows and all(isinstance(each, str | PathLike) for each in rows):
        return rows
    return ()


def given_rows(rows: Any) -> Any:
    """Returns an Arrow reader or table, or an iterable of dicts. Raises Invalid for a value that cannot be rows."""
    kind = type(rows)
    package = kind.__module__.partition(".")[0]
    if package == "pandas":
        return _pandas_table(rows)
    if package == "polars" and kind.__name__ == "LazyFrame":
        return given_rows(rows.collect())
    if package == "pyspark":
        raise Invalid("a frame of Spark is not rows of this process", hint="`lochan.spark.write` writes it to a pool")
    if hasattr(rows, "__arrow_c_stream__") and not (package == "polars" and kind.__name__ == "Series"):
        import pyarrow as pa

        return pa.RecordBatchReader.from_stream(rows)
    if hasattr(rows, "__arrow_c_array__"):
        import pyarrow as pa

        return pa.record_batch(rows)
    if isinstance(rows, Mapping):
        raise Invalid("one dict is not rows", hint="for one row, give a list with it")
    if isinstance(rows, bytes | bytearray | memoryview) or not isinstance(rows, Iterable):
        raise Invalid(f"{kind.__name__} is not rows", hint=_HINT)
    return rows


def _pandas_table(frame: Any) -> Any:
    """Returns the frame as a table, with its index if that has a name. Missing values are null."""
    import pyarrow as pa

    if not hasattr(frame, "columns"):
        raise Invalid(f"a {type(frame).__name__} of pandas is not rows", hint="give a DataFrame")
    try:
        return pa.Table.from_pandas(frame, preserve_index=any(name is not None for name in frame.index.names))
    except (pa.ArrowException, TypeError) as error:
        reason = "; ".join(map(str, error.args))
        raise Invalid(
            f"the frame is no table: {reason}", hint='give `frame.to_dict("records")` if its values are of many kinds'
        ) from error


def _is_open_file(rows: Any) -> bool:
    return hasattr(rows, "read") and not hasattr(rows, "__arrow_c_stream__")
