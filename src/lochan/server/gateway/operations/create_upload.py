"""CreateMultipartUpload."""

from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.places import check_writable, object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import told
from lochan.server.gateway.wire.checksums import declared_checksum, declared_type
from lochan.server.gateway.wire.xml_uploads import initiated
from lochan.versioning.uploads import open_upload


async def handle(gateway: Gateway, request: Request) -> Response:
    place = await object_place(gateway, request, "fs:WriteObject")
    check_writable(place)
    checksum = declared_checksum(request.headers)
    algorithm = checksum.algorithm if checksum else None
    kind = declared_type(request.headers, algorithm)
    said = told(request.headers)
    id = await open_upload(
        place.repository,
        place.branch,
        place.path,
        actor=gateway.actor(request),
        content_type=said.content_type,
        headers=said.headers,
        metadata=said.metadata,
        checksum=algorithm or "",
        checksum_type=kind or "",
        workspace=place.workspace,
    )
    answer = xml(initiated(request.bucket, request.key, id))
    if algorithm and kind:
        answer.headers.extend([("x-amz-checksum-algorithm", algorithm), ("x-amz-checksum-type", kind)])
    return answer
