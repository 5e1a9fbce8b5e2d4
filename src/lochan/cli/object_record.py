"""An object, and a side of a difference or a conflict, as the command line shows them."""

from typing import TYPE_CHECKING, Any

from lochan.cli.shown import instant

if TYPE_CHECKING:
    from lochan.formats.entry import Entry


def object_record(entry: "Entry") -> dict[str, Any]:
    from lochan.pools.objects import users_metadata

    return {
        "path": entry.path,
        "type": "object",
        "size": entry.size,
        "mtime": instant(entry.mtime),
        "checksum": entry.checksum,
        "etag": entry.etag,
        "content_type": entry.content_type,
        "metadata": users_metadata(entry),
    }


def side_record(entry: "Entry | None") -> dict[str, Any] | None:
    return None if entry is None else {"size": entry.size, "checksum": entry.checksum}
