"""What S3 knows of a bucket or an object and a lake does not keep: clients ask for it when they start, and are answered
as by one that never had any. Writing it is not implemented. Who asks about an object sees that it is there, so they
must be allowed to read it."""

from collections.abc import Mapping
from typing import NamedTuple

from lochan.api.conditions import NO_CONDITIONS
from lochan.server.gateway.find_object import bucket_repository, object_address, open_object
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.operations.get_object import ACTION
from lochan.server.gateway.request import Response, S3Request, xml
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import S3Owner, access_control
from lochan.server.gateway.wire.xml_out import document, element


class Absent(NamedTuple):
    """How a configuration that is not there is answered: by an error, or by an empty document."""

    operation: str
    error: str = ""
    root: str = ""  # of the document
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
    await bucket_repository(gateway, request, "fs:ReadRepository")
    return _answer(request, OF_BUCKETS, BucketName=request.bucket)


async def get_object_configuration(gateway: Gateway, request: S3Request) -> Response:
    await open_object(await object_address(gateway, request, ACTION), NO_CONDITIONS)
    return _answer(request, OF_OBJECTS)


def _answer(request: S3Request, known: Mapping[str, Absent], **fields: str) -> Response:
    absent = next(found for name, found in known.items() if name in request.query)
    if absent.error:
        raise S3Error(absent.error, **fields)
    if absent.root == "AccessControlPolicy":
        return xml(access_control(S3Owner(request.user, request.user)))
    return xml(document(absent.root, (absent.content,)))
