"""RenameObject: an object gets another key on its branch. Only metadata move, in one event: nobody sees it twice."""

from lochan.formats.entry import Entry
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.looking import current
from lochan.server.gateway.operations.delete_object import ACTION as DELETE
from lochan.server.gateway.places import check_writable, object_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.addressing import copy_source
from lochan.server.gateway.wire.conditions import conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.writing import check
from lochan.versioning.copy import move

SOURCE = "x-amz-rename-source"


async def handle(gateway: Gateway, request: Request) -> Response:
    """The source must be allowed to be read and deleted. Raises NoSuchKey, PreconditionFailed."""
    target = await object_place(gateway, request, "fs:WriteObject")
    check_writable(target)
    if SOURCE not in request.headers:
        raise S3Error("InvalidArgument", "A rename names its source.", ArgumentName=SOURCE)
    named = copy_source(request.headers[SOURCE])
    for action in ("fs:ReadObject", DELETE):
        source = await object_place(gateway, request, action, named.bucket, named.key)
    if source.repository is not target.repository or source.ref != target.ref:
        raise S3Error("InvalidRequest", "An object can be renamed on its own branch only; copy it instead.")
    wanted, of_source = conditions(request.headers), conditions(request.headers, f"{SOURCE}-")

    def check_both(there: Entry | None, here: Entry | None) -> None:
        if there is None:
            raise S3Error("NoSuchKey", Key=named.key)
        of_source.check_copy(current(there))
        check(wanted, here)

    await move(
        target.repository,
        target.ref,
        source.path,
        target.path,
        actor=gateway.keyed_actor(request, named),
        check=check_both,
    )
    return Response(200, [("content-length", "0")])
