"""Lists, creates, shows and deletes buckets. A bucket is a repository."""

from collections.abc import Mapping
from typing import NamedTuple

from lochan.access import resources
from lochan.api.conditions import NO_CONDITIONS
from lochan.api.results import microseconds
from lochan.errors import AlreadyExists, Invalid
from lochan.server.gateway.find_object import bucket_repository, object_address, open_object, require, rights
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.incoming_body import RequestBody
from lochan.server.gateway.request import Response, S3Request, number, xml
from lochan.server.gateway.wire import xml_listings
from lochan.server.gateway.wire.addressing import checked_bucket
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_in import parse_create_bucket
from lochan.server.gateway.wire.xml_listings import S3Owner, access_control
from lochan.server.gateway.wire.xml_out import document, element, location, versioning

_PAGE_MAX = 10_000
_BODY_BYTES_MAX = 64 << 10


async def list_buckets(gateway: Gateway, request: S3Request) -> Response:
    query = request.query
    repositories = [each async for each in gateway.lake(request).repositories()]
    allowed = await rights(gateway, request)
    prefix, after = query.get("prefix"), query.get("continuation-token", "")
    shown = [
        each
        for each in repositories
        if each.name.startswith(prefix or "")
        and each.name > after
        and allowed.allow(request.action, resources.repository(each.name))
    ]
    limit = number(request, "max-buckets", _PAGE_MAX, 1, _PAGE_MAX)
    page = shown[:limit]
    next = page[-1].name if len(shown) > limit else None
    owner = S3Owner(request.user, request.user)
    return xml(
        xml_listings.list_buckets(owner, [(each.name, microseconds(each.created)) for each in page], next, prefix)
    )


async def create_bucket(gateway: Gateway, request: S3Request) -> Response:
    name = checked_bucket(request.bucket)
    if name.endswith(("-", ".")):  # a repository may have such a name, but a bucket of S3 may not
        raise S3Error("InvalidBucketName", BucketName=name)
    await require(gateway, request, request.action, resources.repository(name))
    if "content-length" in request.headers and (body := await RequestBody(request, _BODY_BYTES_MAX).whole()):
        parse_create_bucket(body)
    try:
        await gateway.lake(request).create_repository(name, dotted=gateway.settings.flat)
    except AlreadyExists:
        mine = (await gateway.lake(request).repository(name).show()).created_by == request.user
        raise S3Error("BucketAlreadyOwnedByYou" if mine else "BucketAlreadyExists", BucketName=name) from None
    except Invalid as error:
        raise S3Error("InvalidBucketName", error.message, BucketName=name) from None
    return Response(200, [("location", f"/{name}"), ("content-length", "0")])


async def head_bucket(gateway: Gateway, request: S3Request) -> Response:
    await bucket_repository(gateway, request, request.action)
    return Response(200, [("x-amz-bucket-region", gateway.settings.region)])


async def get_bucket_location(gateway: Gateway, request: S3Request) -> Response:
    await bucket_repository(gateway, request, request.action)
    return xml(location(gateway.settings.region))


async def get_bucket_versioning(gateway: Gateway, request: S3Request) -> Response:
    await bucket_repository(gateway, request, request.action)
    return xml(versioning())


async def delete_bucket(gateway: Gateway, request: S3Request) -> Response:
    repository = await bucket_repository(gateway, request, request.action)
    if not await repository.is_empty():
        raise S3Error("BucketNotEmpty", BucketName=request.bucket)
    await repository.delete()
    return Response(204, [])


# What S3 knows about a bucket or an object and a lake does not keep. Clients ask for it when they start, and get the
# answer of a bucket that never had any. Writing it is not implemented. A user who asks about an object learns that it
# exists, so they must be allowed to read it.


class Absent(NamedTuple):
    """The answer for a configuration that does not exist: an error, or an empty document."""

    operation: str
    error: str = ""
    root: str = ""  # the name of the document's root element
    content: str = ""


OF_BUCKETS: dict[str, Absent] = {
    "accelerate": Absent("GetBucketAccelerateConfiguration", root="AccelerateConfiguration"),
    "acl": Absent("GetBucketAcl", root="AccessControlPolicy"),
    "cors": Absent("GetBucketCors", "NoSuchCORSConfiguration"),
    "encryption": Absent("GetBucketEncryption", "ServerSideEncryptionConfigurationNotFoundError"),
    "lifecycle": Absent("GetBucketLifecycleConfiguration", "NoSuchLifecycleConfiguration"),
    "logging": Absent("GetBucketLogging", root="BucketLoggingStatus"),
    "notification": Absent("GetBucketNotificationConfiguration", root="NotificationConfiguration"),
    "object-lock": Absent("GetObjectLockConfiguration", "ObjectLockConfigurationNotFoundError"),
    "ownershipControls": Absent("GetBucketOwnershipControls", "OwnershipControlsNotFoundError"),
    "policy": Absent("GetBucketPolicy", "NoSuchBucketPolicy"),
    "policyStatus": Absent("GetBucketPolicyStatus", "NoSuchBucketPolicy"),
    "publicAccessBlock": Absent("GetPublicAccessBlock", "NoSuchPublicAccessBlockConfiguration"),
    "replication": Absent("GetBucketReplication", "ReplicationConfigurationNotFoundError"),
    "requestPayment": Absent(
        "GetBucketRequestPayment", root="RequestPaymentConfiguration", content=element("Payer", "BucketOwner")
    ),
    "tagging": Absent("GetBucketTagging", "NoSuchTagSet"),
    "website": Absent("GetBucketWebsite", "NoSuchWebsiteConfiguration"),
}
OF_OBJECTS: dict[str, Absent] = {
    "acl": Absent("GetObjectAcl", root="AccessControlPolicy"),
    "legal-hold": Absent("GetObjectLegalHold", "NoSuchObjectLockConfiguration"),
    "retention": Absent("GetObjectRetention", "NoSuchObjectLockConfiguration"),
    "tagging": Absent("GetObjectTagging", root="Tagging", content="<TagSet></TagSet>"),
}


async def get_bucket_configuration(gateway: Gateway, request: S3Request) -> Response:
    await bucket_repository(gateway, request, request.action)
    return _answer(request, OF_BUCKETS, BucketName=request.bucket)


async def get_object_configuration(gateway: Gateway, request: S3Request) -> Response:
    await open_object(await object_address(gateway, request, request.action), NO_CONDITIONS)
    return _answer(request, OF_OBJECTS)


def _answer(request: S3Request, known: Mapping[str, Absent], **fields: str) -> Response:
    absent = next(found for name, found in known.items() if name in request.query)
    if absent.error:
        raise S3Error(absent.error, **fields)
    if absent.root == "AccessControlPolicy":
        return xml(access_control(S3Owner(request.user, request.user)))
    return xml(document(absent.root, (absent.content,)))
