"""Detects the format of an input by its first bytes, and by its name if these do not decide."""

from __future__ import annotations

import json
from pathlib import PurePosixPath

from lochan.errors import Invalid

NDJSON, JSON, CSV, TSV, PARQUET, ARROW, LINES = "ndjson", "json", "csv", "tsv", "parquet", "arrow", "lines"
ORC, AVRO, XML = "orc", "avro", "xml"
FORMATS = (NDJSON, JSON, CSV, TSV, PARQUET, ARROW, ORC, AVRO, XML, LINES)

HEAD_BYTES = 64 << 10  # the number of bytes that are inspected

_PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_MARKS = tuple(_PACKED)
_PACKED_SUFFIXES = (".gz", ".gzip", ".zst", ".zstd")
_BY_SUFFIX = {
    ".ndjson": NDJSON,
    ".jsonl": NDJSON,
    ".jsonlines": NDJSON,
    ".json": JSON,
    ".csv": CSV,
    ".tsv": TSV,
    ".tab": TSV,
    ".parquet": PARQUET,
    ".pq": PARQUET,
    ".arrow": ARROW,
    ".feather": ARROW,
    ".ipc": ARROW,
    ".arrows": ARROW,
    ".orc": ORC,
    ".avro": AVRO,
    ".xml": XML,
    ".txt": LINES,
    ".log": LINES,
    ".text": LINES,
}


def packing(head: bytes) -> str | None:
    """Returns the compression, gzip or zstd, or None if the bytes are not compressed."""
    if not head.startswith(_MARKS):
        return None
    return next(name for mark, name in _PACKED.items() if head.startswith(mark))


def detect(name: str, head: bytes) -> str:
    """Returns the format of an input; `head` are its first unpacked bytes. Raises Invalid if it cannot be detected."""
    if head.startswith(b"PAR1"):
        return PARQUET
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return ARROW
    if head.startswith(b"Obj\x01"):
        return AVRO
    by_name = _by_name(name)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    start = text[:1]
    if head.startswith(b"ORC") and by_name in (None, ORC):
        return ORC
    if text.startswith(b"<?xml") and by_name in (None, XML):
        return XML
    if start == b"[" and by_name in (None, JSON, NDJSON):
        return JSON
    if start == b"{" and by_name in (None, JSON, NDJSON, LINES):
        return _one_per_line(head) if by_name != NDJSON else NDJSON
    if by_name is not None:
        return by_name
    if not start:
        return NDJSON  # the input is empty
    raise Invalid(f"{name}: the format cannot be detected", hint=f"choose it with -i: one of {', '.join(FORMATS)}")


def is_plain_text(name: str) -> bool:
    """Returns whether the name is that of an uncompressed text format."""
    packed = PurePosixPath(name.lower()).suffix in _PACKED_SUFFIXES
    return not packed and _by_name(name) in (NDJSON, JSON, LINES, CSV, TSV, XML)


def _by_name(name: str) -> str | None:
    path = PurePosixPath(name.lower())
    return _BY_SUFFIX.get((path.with_suffix("") if path.suffix in _PACKED_SUFFIXES else path).suffix)


def _one_per_line(head: bytes) -> str:
    """Returns NDJSON or JSON. If the first object does not end on its line, the input is JSON over several lines."""
    line, newline, _ = head.lstrip(b" \t\r\n").partition(b"\n")
    if not newline and len(head) < HEAD_BYTES:
        newline = b"\n"  # the input is this one line
    if not newline:
        return NDJSON
    try:
        json.loads(line)
    except json.JSONDecodeError as error:
        return JSON if error.pos >= len(line.rstrip()) or error.msg == "Extra data" else NDJSON
    except (ValueError, RecursionError):
        return NDJSON
    return NDJSON
