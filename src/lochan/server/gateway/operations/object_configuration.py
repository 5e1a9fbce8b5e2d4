"""What S3 knows of an object and a lake does not keep: tags, an access list, a lock. An object is answered for as one
that never had any; who asks sees that it is there, so they must be allowed to read it."""

from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import look_up
from lochan.server.gateway.operations.bucket_configuration import Absent
from lochan.server.gateway.operations.get_object import ACTION
from lochan.server.gateway.places import object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import Owner
from lochan.server.gateway.wire.xml_out import access_control
from lochan.server.gateway.wire.xml_text import document

NAMES: dict[str, Absent] = {
    "acl": Absent("GetObjectAcl", root="AccessControlPolicy"),
    "legal-hold": Absent("GetObjectLegalHold", "NoSuchObjectLockConfiguration"),
    "retention": Absent("GetObjectRetention", "NoSuchObjectLockConfiguration"),
    "tagging": Absent("GetObjectTagging", root="Tagging", content="<TagSet></TagSet>"),
}


async def handle(gateway: Gateway, request: Request) -> Response:
    await look_up(await object_place(gateway, request, ACTION))
    absent = next(found for name, found in NAMES.items() if name in request.query)
    if absent.error:
        raise S3Error(absent.error)
    if absent.root == "AccessControlPolicy":
        return xml(access_control(Owner(request.user, request.user)))
    return xml(document(absent.root, (absent.content,)))
