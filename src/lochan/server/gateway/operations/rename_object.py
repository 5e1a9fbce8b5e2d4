"""RenameObject: an object gets another key on its branch. Only metadata move, in one event: nobody sees it twice."""

from lochan.formats.entry import Entry
from lochan.server.gateway.find_object import check_writable, current, object_address
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.operations.delete_objects import ACTION as DELETE
from lochan.server.gateway.operations.put_object import check
from lochan.server.gateway.request import Response, S3Request
from lochan.server.gateway.wire.addressing import copy_source
from lochan.server.gateway.wire.conditions import conditions
from lochan.server.gateway.wire.errors import S3Error
from lochan.versioning.copy import move

SOURCE = "x-amz-rename-source"


async def rename_object(gateway: Gateway, request: S3Request) -> Response:
    """The source must be allowed to be read and deleted. Raises NoSuchKey, PreconditionFailed."""
    target = await object_address(gateway, request, "fs:WriteObject")
    check_writable(target)
    if SOURCE not in request.headers:
        raise S3Error("InvalidArgument", "A rename must name its source.", ArgumentName=SOURCE)
    named = copy_source(request.headers[SOURCE])
    for action in ("fs:ReadObject", DELETE):
        source = await object_address(gateway, request, action, named.bucket, named.key)
    if source.repository is not target.repository or source.ref != target.ref:
        raise S3Error("InvalidRequest", "An object can only be renamed within its branch; copy it instead.")
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
