"""What S3 knows of a bucket and a lake does not keep: clients ask for it when they start, and are answered as by a
bucket that never had any. Writing one is not implemented."""

from typing import NamedTuple

from lochan.server.gateway.answers import xml
from lochan.server.gateway.gateway import Gateway
from lochan.server.gateway.places import bucket_place
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.wire.errors import S3Error
from lochan.server.gateway.wire.xml_listings import Owner
from lochan.server.gateway.wire.xml_out import access_control
from lochan.server.gateway.wire.xml_text import document, element


class Absent(NamedTuple):
    """How a configuration that is not there is answered: by an error, or by an empty document."""

    operation: str
    error: str = ""
    root: str = ""  # of the document
    content: str = ""


NAMES: dict[str, Absent] = {
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


async def handle(gateway: Gateway, request: Request) -> Response:
    await bucket_place(gateway, request, "fs:ReadRepository")
    absent = next(found for name, found in NAMES.items() if name in request.query)
    if absent.error:
        raise S3Error(absent.error, BucketName=request.bucket)
    if absent.root == "AccessControlPolicy":
        return xml(access_control(Owner(request.user, request.user)))
    return xml(document(absent.root, (absent.content,)))
