"""ListParts: of one upload, by number, paged."""

from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.numbers import number, page_size
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.uploading import found_upload
from lochan.server.gateway.wire.xml_listings import Owner
from lochan.server.gateway.wire.xml_uploads import PartListing, Upload, UploadedPart, list_parts


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, "fs:ReadObject")
    upload = found_upload(place, request)
    limit = page_size(request, "max-parts")
    marker = number(request, "part-number-marker", 0, 0, (1 << 31) - 1)
    behind = [part for part in place.repository.folded().uploads.parts(upload.id) if part.number > marker]
    page = behind[:limit]
    opened = upload.opened
    checksum = opened.checksum or None, opened.checksum_type or None
    return xml(
        list_parts(
            PartListing(
                bucket=request.bucket,
                upload=Upload(request.key, upload.id, upload.time, *checksum),
                parts=[UploadedPart(part.number, part.time, part.etag, part.size, part.checksums) for part in page],
                marker=marker,
                next_marker=page[-1].number if page else None,
                max_parts=limit,
                truncated=len(behind) > limit,
                owner=Owner(upload.user, upload.user),
                encoding_type=request.query.get("encoding-type"),
            )
        )
    )
