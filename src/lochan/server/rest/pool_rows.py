"""Says which format the rows of a load have that come in the body of a request."""

from __future__ import annotations

from starlette.requests import Request

from lochan.api.load import LoadOptions
from lochan.server.api.errors import HttpError

# By media type. If a format is empty, the first bytes decide.
FORMATS = {
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "application/json": "json",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.apache.arrow.stream": "arrow",
    "application/vnd.apache.arrow.file": "arrow",
    "application/vnd.apache.orc": "orc",
    "application/vnd.apache.avro": "avro",
    "application/avro": "avro",
    "application/xml": "xml",
    "text/xml": "xml",
    "text/plain": "lines",
    "application/octet-stream": "",
    "application/gzip": "",
    "application/zstd": "",
    "application/x-www-form-urlencoded": "",  # curl sends this for any body, unless it is told otherwise
}
_PACKED = ("", "identity", "gzip", "zstd")  # the first bytes show these too


def load_options(request: Request, format: str, on_error: str, row_tag: str) -> LoadOptions:
    """Returns the options of a load. Raises 400 for a type that contains no rows."""
    media = request.headers.get("content-type", "application/octet-stream").partition(";")[0].strip().lower()
    packed = request.headers.get("content-encoding", "").strip().lower()
    if packed not in _PACKED:
        raise HttpError(
            400, f"in the header content-encoding: {packed[:40]!r} is not supported; send gzip, zstd, or plain rows"
        )
    if not format:
        if media not in FORMATS:
            accepted = f"send one of {', '.join(FORMATS)}"
            raise HttpError(400, f"in the header content-type: {media[:80]!r} is not a type of rows; {accepted}")
        format = FORMATS[media]
    return LoadOptions(format=format or None, on_error=on_error, row_tag=row_tag)
