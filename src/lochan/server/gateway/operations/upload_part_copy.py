"""UploadPartCopy: a part from an object that is there. Its bytes are read, for the ETag; within a repository they are
not written again."""

import hashlib

from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.numbers import number
from lochan.server.gateway.operations.copy_object import found_source
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.uploading import found_upload
from lochan.server.gateway.wire.ranges import Span, copied_span
from lochan.server.gateway.wire.xml_uploads import copied
from lochan.versioning.uploads import PARTS_MAX, copy_part, put_part


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, "fs:WriteObject")
    which = number(request, "partNumber", None, 1, PARTS_MAX)
    upload = found_upload(place, request)
    source = await found_source(gateway, request)
    text = request.headers.get("x-amz-copy-source-range")
    span = copied_span(text, source.entry.size) if text else Span(0, source.entry.size)
    actor = gateway.actor(request)
    read = source.place.repository.reader.read(source.entry, span.start, span.end)
    if source.place.repository is place.repository:
        md5 = hashlib.md5(usedforsecurity=False)
        async for piece in read:
            md5.update(piece)
        part = await copy_part(
            place.repository, upload.id, which, source.entry, span.start, span.end, md5.hexdigest(), actor=actor
        )
    else:
        part = await put_part(place.repository, upload.id, which, read, actor=actor)
    return xml(copied(part.etag, part.time, part.checksums, of_part=True))
