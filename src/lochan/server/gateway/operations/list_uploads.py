"""ListMultipartUploads: those that are open, by key and then by age, paged."""

from itertools import groupby

from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.numbers import page_size
from lochan.server.gateway.places import bucket_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.xml_listings import Owner
from lochan.server.gateway.wire.xml_uploads import Upload, UploadListing, list_uploads
from lochan.versioning.uploads import uploads


async def handle(gateway: Gateway, request: Request) -> Response:
    repository = await bucket_place(gateway, request, "fs:ReadRepository")
    query = request.query
    prefix, delimiter = query.get("prefix", ""), query.get("delimiter", "")
    key_marker, id_marker = query.get("key-marker", ""), query.get("upload-id-marker", "")
    limit = page_size(request, "max-uploads")
    found = [
        (key, each)
        for each in await uploads(repository)
        if (key := _key(gateway, each.opened.branch, each.opened.workspace, each.opened.path)).startswith(prefix)
        and _is_behind(key, each.id, key_marker, id_marker)
    ]
    found.sort(key=lambda pair: (pair[0].encode(), pair[1].time, pair[1].id))
    items: list[tuple[str, str | None, Upload | None]] = []  # key or prefix, id, upload
    for common, several in groupby(found, lambda pair: _common(pair[0], prefix, delimiter)):
        if common is not None:
            items.append((common, None, None))
            continue
        for key, each in several:
            opened = each.opened
            shown = Upload(key, each.id, each.time, opened.checksum or None, opened.checksum_type or None)
            items.append((key, each.id, shown))
    page = items[:limit]
    more = len(items) > limit and bool(page)
    return xml(
        list_uploads(
            UploadListing(
                bucket=request.bucket,
                uploads=[upload for _, _, upload in page if upload is not None],
                prefixes=[key for key, _, upload in page if upload is None],
                max_uploads=limit,
                truncated=more,
                owner=Owner(request.user, request.user),
                key_marker=key_marker,
                id_marker=id_marker,
                next_key_marker=page[-1][0] if more else None,
                next_id_marker=page[-1][1] if more else None,
                prefix=prefix,
                delimiter=delimiter or None,
                encoding_type=query.get("encoding-type"),
            )
        )
    )


def _key(gateway: Gateway, branch: str, workspace: str, path: str) -> str:
    if gateway.settings.flat:
        return path
    return f"{branch}+{workspace}/{path}" if workspace else f"{branch}/{path}"


def _is_behind(key: str, id: str, key_marker: str, id_marker: str) -> bool:
    if not key_marker:
        return True
    if key == key_marker:
        return bool(id_marker) and id > id_marker
    return key.encode() > key_marker.encode() and not (key_marker.endswith("/") and key.startswith(key_marker))


def _common(key: str, prefix: str, delimiter: str) -> str | None:
    at = key.find(delimiter, len(prefix)) if delimiter else -1
    return None if at < 0 else key[: at + len(delimiter)]
