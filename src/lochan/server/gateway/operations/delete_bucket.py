"""DeleteBucket: a repository without an object on any of its branches."""

from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.places import bucket_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.errors import S3Error
from lochan.versioning.objects import list_objects


async def handle(gateway: Gateway, request: Request) -> Response:
    repository = await bucket_place(gateway, request, "fs:DeleteRepository")
    refs, _ = await repository.refs()
    for branch in refs.branches():
        if (await list_objects(repository, branch.name, limit=1)).entries:
            raise S3Error("BucketNotEmpty", BucketName=request.bucket)
    await gateway.lake.delete_repository(request.bucket, actor=gateway.actor(request))
    return Response(204, [])
