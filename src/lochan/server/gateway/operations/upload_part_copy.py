"""UploadPartCopy: a part from an object that is there. Its bytes are read, for the ETag; within a repository they are
not written again."""

from lochan.server.gateway.answers import xml
from lochan.server.gateway.digests import digests
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.numbers import part_number
from lochan.server.gateway.operations.copy_object import found_source
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.uploading import found_upload, still_open
from lochan.server.gateway.wire.ranges import Span, copied_span
from lochan.server.gateway.wire.xml_uploads import copied
from lochan.versioning.uploads import copy_part, put_part


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, "fs:WriteObject")
    which = part_number(request)
    upload = found_upload(place, request)
    source = await found_source(gateway, request)
    text = request.headers.get("x-amz-copy-source-range")
    span = copied_span(text, source.entry.size) if text else Span(0, source.entry.size)
    actor, id = gateway.actor(request), upload.id
    algorithms = (upload.opened.checksum,) if upload.opened.checksum else ()
    read = source.place.repository.reader.read(source.entry, span.start, span.end)
    with still_open(upload):
        if source.place.repository is place.repository:
            etag, sums = await digests(read, algorithms)
            part = await copy_part(
                place.repository,
                id,
                which,
                source.entry,
                span.start,
                span.end,
                etag,
                read_at=source.read_at,
                actor=actor,
                checksums=sums,
            )
        else:
            wanted = dict.fromkeys(algorithms)
            part = await put_part(place.repository, id, which, read, actor=actor, checksums=wanted)
    return xml(copied(part.etag, part.time, part.checksums, of_part=True))
