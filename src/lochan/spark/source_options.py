"""The options of the data source: which exist, what they are for, and the lake and ref that they name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, NamedTuple

from lochan.connection import LakeAddress, spark_lake
from lochan.errors import Invalid
from lochan.spark.pyspark_hooks import as_written
from lochan.spark.stream_reader import FEED_OPTIONS

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

    from lochan.api.blocking import Lake
    from lochan.api.frames import RowOptions
    from lochan.api.options import CommitOptions

KEY = "request_key"  # an idempotency key
EXPECT = "ifHead"  # the head that an overwrite may replace
VERSION, TIMESTAMP, MERGE = "versionAsOf", "timestampAsOf", "mergeSchema"
REPLACE, PARTITIONS, OVERWRITE, MODE = "replaceWhere", "partitionBy", "partitionOverwriteMode", "saveMode"
META = "metadata."  # what a commit is to carry
CHECKPOINT = "checkpointLocation"
STATIC, DYNAMIC = "static", "dynamic"

_ALWAYS = ("path", "lake")
_ROWS = ("where", "from", "to", "columns")
READS = (*_ROWS, VERSION, TIMESTAMP, MERGE)
WRITES = ("message", KEY, EXPECT, REPLACE, PARTITIONS, OVERWRITE, MODE, MERGE)
STREAM_WRITES = ("message", CHECKPOINT)
CHANGES = ("changeRows", "readAt")  # a statement of the catalog that changes rows, and the commit that it reads
_OURS = dict.fromkeys((*_ALWAYS, *READS, *WRITES, *STREAM_WRITES, *FEED_OPTIONS, *CHANGES))
_BY_SMALL = {name.lower(): name for name in _OURS}

Options = Mapping[str, str]


def small(options: Options) -> dict[str, str]:
    """Returns the options by their names in lower case, as Spark compares them."""
    return {name.lower(): value for name, value in options.items()}


def check_options(options: Options, allowed: Sequence[str], what: str) -> None:
    """Checks the options of an operation, `what`: a read, a write. Raises Invalid for one that has no meaning there,
    and for one that is misspelt. The store refuses other options that it does not know."""
    taken = {name.lower() for name in (*_ALWAYS, *allowed)}
    for name in options:
        ours = _BY_SMALL.get(name.lower()) or (META if name.lower().startswith(META) else None)
        if ours == META and what == "read":
            raise Invalid(f"{name}: a read takes no metadata", hint="this is an option of writes")
        if ours is not None and ours != META and name.lower() not in taken:
            raise Invalid(f"{ours}: a {what} has no such option", hint=f"its options are {', '.join(allowed)}")
        if ours is None and (close := _close(name)):
            raise Invalid(f"there is no option {name!r}", hint=f"did you mean {close}?")


def _close(name: str) -> str:
    found = get_close_matches(name.lower(), _BY_SMALL, 1, 0.75)
    return _BY_SMALL[found[0]] if found else ""


def flag(options: Options, name: str) -> bool | None:
    """Returns the flag, or None if it is not given. Raises Invalid."""
    text = small(options).get(name.lower())
    if text is None:
        return None
    if text.lower() not in ("true", "false"):
        raise Invalid(f"{name} is true or false, and not {text!r}")
    return text.lower() == "true"


def names_in(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


# --- which lake ------------------------------------------------------------------------------------------------------
def address_in(options: Options) -> LakeAddress:
    return spark_lake(small(options).get("lake"), dict(_store_options(options)))


def path_in(options: Options) -> str:
    path = small(options).get("path")
    if not path:
        raise Invalid("nothing says which pool is meant", hint="such as .load('logs@main') or .save('logs@main')")
    return path


def is_table(options: Options) -> bool:
    """Returns whether the path is one of files."""
    return "/" in small(options).get("path", "")


def _store_options(options: Options) -> Iterator[tuple[str, str]]:
    """Yields every option that is not ours: the store refuses those that it does not know."""
    for name, value in options.items():
        if name.lower() not in _BY_SMALL and not name.lower().startswith(META):
            yield name, value


# --- what is read ----------------------------------------------------------------------------------------------------
def is_feed(options: Options) -> bool:
    """Returns whether an option is one of streams or of the change feed."""
    given = small(options)
    return any(name.lower() in given for name in FEED_OPTIONS)


def check_read(options: Options, *, may_stream: bool = False) -> None:
    """Checks the options of a read. Raises Invalid."""
    check_options(options, (*READS, CHECKPOINT, *FEED_OPTIONS) if may_stream else READS, "read")
    given = small(options)
    if is_table(options) and (wrong := next((name for name in _ROWS if name in given), None)):
        raise Invalid(f"{wrong}: files are read without it", hint="choose rows and columns of the frame")
    if flag(options, MERGE) is False:
        raise Invalid(f"{MERGE}: a read always has the columns of all rows and files", hint="name the columns you want")


def uri_at(lake: Lake, options: Options) -> str:
    """Returns the place at the version or the time that the options name. Raises Invalid or NotFound."""
    given = small(options)
    return time_travel(lake, path_in(options), given.get(VERSION.lower(), ""), given.get(TIMESTAMP.lower(), ""))


def time_travel(lake: Lake, uri: str, version: str, timestamp: str) -> str:
    """Returns the same place at another ref, or at the commit that its branch had at that time. Raises Invalid or
    NotFound."""
    from lochan.api.uri import prefix_uri

    if not version and not timestamp:
        return uri
    found = prefix_uri(uri)
    if version and (timestamp or found.ref):
        both = f"{VERSION} and {TIMESTAMP}" if timestamp else f"{uri!r} and {VERSION}"
        raise Invalid(f"{both} name a commit each", hint="leave one of them out")
    if version:
        return str(found._replace(ref=version))
    branch = found.ref or lake.repository(found.repository).show().default_branch
    return str(found._replace(ref=f"{branch}@{{{timestamp}}}"))


# --- what is written -------------------------------------------------------------------------------------------------
class SourceWriteRequest(NamedTuple):
    uri: str
    mode: str
    expect: str
    rows: RowOptions


def write_request(options: Options, schema: StructType | None, *, overwrite: bool) -> SourceWriteRequest:
    """Returns the request of a write. Raises Invalid."""
    from lochan.api.frames import APPEND, RowOptions
    from lochan.api.frames import OVERWRITE as REPLACES

    check_options(options, WRITES, "write")
    given = small(options)
    mode = REPLACES if overwrite else given.get(MODE.lower(), APPEND).lower()
    expect = given.get(EXPECT.lower(), "")
    if expect and not overwrite:
        raise Invalid(f"{EXPECT}: only an overwrite expects a head", hint="leave it out, or say mode('overwrite')")
    rows = RowOptions(
        replace_where=given.get(REPLACE.lower(), ""),
        partition_by=partitions_in(given.get(PARTITIONS.lower(), "")),
        dynamic=is_dynamic(given.get(OVERWRITE.lower(), STATIC)),
        merge_schema=flag(options, MERGE) is not False,
        schema=schema,
    )
    return SourceWriteRequest(path_in(options), mode, expect, rows)


def is_dynamic(mode: str) -> bool:
    """Returns whether the mode is dynamic. Raises Invalid."""
    if mode.lower() not in (STATIC, DYNAMIC):
        raise Invalid(f"{OVERWRITE} is {STATIC} or {DYNAMIC}, and not {mode!r}")
    return mode.lower() == DYNAMIC


def partitions_in(text: str) -> list[str]:
    """Returns names that are separated by commas, or a JSON list, as Spark has them."""
    if not text.startswith("["):
        return names_in(text)
    found: list[str] = json.loads(text)
    return found


# --- what a commit is ------------------------------------------------------------------------------------------------
def commit_options(options: Options, *, with_key: bool = True) -> CommitOptions:
    """Returns the options of the commit. A stream has no key: its batches are identified by their numbers."""
    from lochan.api.options import CommitOptions

    given = small(options)
    metadata = {
        name[len(META) :]: value for name, value in as_written(options).items() if name.lower().startswith(META)
    }
    key = given.get(KEY, "") if with_key else ""
    return CommitOptions(message=given.get("message", ""), metadata=metadata, key=key)
