"""Which request is which operation, and what its user must be allowed: the one table of the gateway.

An operation is found by the method, by what is addressed (the service, a bucket, an object), and by a sub-resource in
the query. A test fails for a route without an action.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

from lochan.server.gateway.operations import (
    abort_upload,
    complete_upload,
    copy_object,
    create_bucket,
    create_upload,
    delete_bucket,
    delete_object,
    delete_objects,
    get_attributes,
    get_bucket_location,
    get_bucket_versioning,
    get_object,
    head_bucket,
    head_object,
    list_buckets,
    list_objects_v1,
    list_objects_v2,
    list_parts,
    list_uploads,
    list_versions,
    post_object,
    put_object,
    upload_part,
    upload_part_copy,
)
from lochan.server.gateway.request import Request, Response
from lochan.server.gateway.storing import not_here, refuse_unkept
from lochan.server.gateway.wire.errors import S3Error

if TYPE_CHECKING:
    from lochan.server.gateway.gateway import Gateway

Handle = Callable[["Gateway", Request], Awaitable[Response]]


class Route(NamedTuple):
    name: str
    handle: Handle
    action: str  # asked of the bucket, or of the object
    is_form: bool = False  # its signature may stand in the body


SERVICE, BUCKET, OBJECT = "service", "bucket", "object"
COPY = "x-amz-copy-source"  # a header that makes another operation of a put

READ, WRITE, DELETE, LIST = "fs:ReadObject", "fs:WriteObject", "fs:DeleteObject", "fs:ListObjects"

# Sub-resources in the order they are looked for; "" is the operation without one.
ROUTES: dict[tuple[str, str], dict[str, Route]] = {
    (SERVICE, "GET"): {"": Route("ListBuckets", list_buckets.handle, "fs:ListRepositories")},
    (BUCKET, "GET"): {
        "location": Route("GetBucketLocation", get_bucket_location.handle, "fs:ReadRepository"),
        "versioning": Route("GetBucketVersioning", get_bucket_versioning.handle, "fs:ReadRepository"),
        "uploads": Route("ListMultipartUploads", list_uploads.handle, LIST),
        "versions": Route("ListObjectVersions", list_versions.handle, LIST),
        "list-type": Route("ListObjectsV2", list_objects_v2.handle, LIST),
        "": Route("ListObjects", list_objects_v1.handle, LIST),
    },
    (BUCKET, "HEAD"): {"": Route("HeadBucket", head_bucket.handle, "fs:ReadRepository")},
    (BUCKET, "PUT"): {"": Route("CreateBucket", create_bucket.handle, "fs:CreateRepository")},
    (BUCKET, "DELETE"): {"": Route("DeleteBucket", delete_bucket.handle, "fs:DeleteRepository")},
    (BUCKET, "POST"): {
        "delete": Route("DeleteObjects", delete_objects.handle, DELETE),
        "": Route("PostObject", post_object.handle, WRITE, is_form=True),
    },
    (OBJECT, "GET"): {
        "uploadId": Route("ListParts", list_parts.handle, READ),
        "attributes": Route("GetObjectAttributes", get_attributes.handle, READ),
        "": Route("GetObject", get_object.handle, READ),
    },
    (OBJECT, "HEAD"): {"": Route("HeadObject", head_object.handle, READ)},
    (OBJECT, "PUT"): {
        f"uploadId+{COPY}": Route("UploadPartCopy", upload_part_copy.handle, WRITE),
        "uploadId": Route("UploadPart", upload_part.handle, WRITE),
        f"+{COPY}": Route("CopyObject", copy_object.handle, WRITE),
        "": Route("PutObject", put_object.handle, WRITE),
    },
    (OBJECT, "POST"): {
        "uploads": Route("CreateMultipartUpload", create_upload.handle, WRITE),
        "uploadId": Route("CompleteMultipartUpload", complete_upload.handle, WRITE),
    },
    (OBJECT, "DELETE"): {
        "uploadId": Route("AbortMultipartUpload", abort_upload.handle, WRITE),
        "": Route("DeleteObject", delete_object.handle, DELETE),
    },
}

# What S3 has and a lake has not: said at once, and before anything is read.
NOT_HERE = frozenset(
    (
        *("accelerate", "acl", "analytics", "cors", "encryption", "intelligent-tiering", "inventory", "legal-hold"),
        *("lifecycle", "logging", "metadataConfiguration", "metadataTable", "metrics", "notification", "object-lock"),
        *("ownershipControls", "policy", "policyStatus", "publicAccessBlock", "renameObject", "replication"),
        *("requestPayment", "restore", "retention", "select", "tagging", "torrent", "website"),
    )
)
# Those that are here, each with some methods: with another one they must not be taken for the operation without them.
HERE = frozenset(("attributes", "delete", "location", "session", "uploadId", "uploads", "versioning", "versions"))


def find(request: Request) -> Route:
    """Raises NotImplemented, MethodNotAllowed, or NoSuchVersion: of every object there is one, which is `null`."""
    query = request.query
    if query and not NOT_HERE.isdisjoint(query):
        raise not_here()
    refuse_unkept(request.headers)
    level = OBJECT if request.key else BUCKET if request.bucket else SERVICE
    routes = ROUTES.get((level, request.method))
    if routes is None:
        raise S3Error("MethodNotAllowed")
    if len(routes) > 1:
        for mark, route in routes.items():
            if mark and _fits(mark, request):
                return route
    found = routes.get("")
    if found is None or not HERE.isdisjoint(query):
        raise not_here() if "versioning" in query else S3Error("MethodNotAllowed")
    if query:
        _check_object_query(request, level)
    return found


def _check_object_query(request: Request, level: str) -> None:
    """What would make another request of it must not be overlooked."""
    if level == OBJECT and request.query.get("versionId", "null") not in ("", "null"):
        raise S3Error("NoSuchVersion", VersionId=request.query["versionId"][:1024])
    if request.method == "PUT" and "partNumber" in request.query:
        raise S3Error("InvalidArgument", "A part number needs an upload id.", ArgumentName="uploadId")


def _fits(mark: str, request: Request) -> bool:
    name, plus, header = mark.partition("+")
    return (not name or name in request.query) and (not plus or header in request.headers)
