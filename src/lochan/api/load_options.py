"""What a load of files may be told."""

from __future__ import annotations

import msgspec


class LoadOptions(msgspec.Struct, frozen=True, kw_only=True):
    format: str | None = None  # ndjson, json, csv, tsv, parquet, arrow, orc, avro, xml, lines; None: the content tells
    row_tag: str = ""  # of XML: the elements that are rows; empty: those right below the root
    on_error: str = "fail"  # what becomes of input that is no row: fail, skip, or keep it as a row of its own
    unpacked_max_bytes: int | None = None  # how large a packed input may become; None: the standard
    create: bool = False  # make the pool if there is none, with a key that the rows suggest
    key: tuple[str, ...] = ()  # make it, sorted by this; one that is there must be sorted by this
    times: tuple[str, ...] = ()  # of a new pool: fields whose texts are times


DEFAULT_LOAD = LoadOptions()
