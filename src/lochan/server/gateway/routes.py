"""Says which operation each request is, and which right its user needs: the one table of the gateway.

An operation is found by the method, by what is addressed (the service, a bucket or an object), and by a sub-resource in
the query. The names that a query may have are listed for each operation. S3 gives new operations new names on old
paths. So a name that is not listed may mean anything, and a PUT or DELETE that carries one must not be taken for the
plain operation. Tests compare the names with the published model of S3, and fail for a route without an action.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from lochan.server.gateway.object_headers import refuse_unsupported
from lochan.server.gateway.operations import (
    buckets,
    copy_object,
    delete_objects,
    get_object,
    list_objects,
    put_object,
    uploads,
)
from lochan.server.gateway.operations import buckets as configuration
from lochan.server.gateway.request import Response, S3Request
from lochan.server.gateway.wire.errors import S3Error

if TYPE_CHECKING:
    from lochan.server.gateway.gateway import Gateway

Handle = Callable[["Gateway", S3Request], Awaitable[Response]]


class Route(NamedTuple):
    name: str
    handle: Handle
    action: str  # checked for the bucket or the object
    query: frozenset[str] = frozenset()  # the names that its query may have
    is_form: bool = False  # whether its signature may be in the body


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SERVICE, BUCKET, OBJECT = "service", "bucket", "object"
COPY = "x-amz-copy-source"  # a header that turns a put into another operation

READ, WRITE, DELETE, LIST = "fs:ReadObject", "fs:WriteObject", "fs:DeleteObject", "fs:ListObjects"
READ_BUCKET = "fs:ReadRepository"

_LIST = _names("delimiter encoding-type max-keys prefix")
_GET = _names("versionId partNumber") | {
    f"response-{name}"
    for name in _names("cache-control content-disposition content-encoding content-language content-type expires")
}
# The signature, headers that a link signs in its query, and the operation's name, which newer SDKs add.
_ALWAYS = _names("AWSAccessKeyId Signature Expires x-id content-type Content-Type content-md5 Content-MD5")

# What MinIO's client asks for beyond S3, in reads that have nothing more to tell.
_EXTENSIONS = {"lifecycle": _names("withUpdatedAt")}


def _configurations(names: Mapping[str, configuration.Absent], handle: Handle, action: str) -> dict[str, Route]:
    versions = _names("versionId") if action == READ else frozenset()
    return {
        name: Route(absent.operation, handle, action, versions | _EXTENSIONS.get(name, frozenset()))
        for name, absent in names.items()
    }


# Sub-resources in the order in which they are looked for; "" is the operation without one.
ROUTES: dict[tuple[str, str], dict[str, Route]] = {
    (SERVICE, "GET"): {
        "": Route(
            "ListBuckets",
            buckets.list_buckets,
            "fs:ListRepositories",
            _names("max-buckets continuation-token prefix bucket-region"),
        )
    },
    (BUCKET, "GET"): {
        "location": Route("GetBucketLocation", buckets.get_bucket_location, READ_BUCKET),
        "versioning": Route("GetBucketVersioning", buckets.get_bucket_versioning, READ_BUCKET),
        "uploads": Route(
            "ListMultipartUploads",
            uploads.list_multipart_uploads,
            LIST,
            _names("delimiter encoding-type key-marker max-uploads prefix upload-id-marker"),
        ),
        "versions": Route(
            "ListObjectVersions",
            list_objects.list_object_versions,
            LIST,
            _LIST | _names("key-marker version-id-marker"),
        ),
        "list-type": Route(
            "ListObjectsV2",
            list_objects.list_objects_v2,
            LIST,
            _LIST | _names("continuation-token fetch-owner start-after"),
        ),
        **_configurations(configuration.OF_BUCKETS, configuration.get_bucket_configuration, READ_BUCKET),
        "": Route("ListObjects", list_objects.list_objects, LIST, _LIST | {"marker"}),
    },
    (BUCKET, "HEAD"): {"": Route("HeadBucket", buckets.head_bucket, READ_BUCKET)},
    (BUCKET, "PUT"): {"": Route("CreateBucket", buckets.create_bucket, "fs:CreateRepository")},
    (BUCKET, "DELETE"): {"": Route("DeleteBucket", buckets.delete_bucket, "fs:DeleteRepository")},
    (BUCKET, "POST"): {
        "delete": Route("DeleteObjects", delete_objects.delete_objects, DELETE),
        "": Route("PostObject", put_object.post_object, WRITE, is_form=True),
    },
    (OBJECT, "GET"): {
        "uploadId": Route("ListParts", uploads.list_parts, READ, _names("max-parts part-number-marker encoding-type")),
        "attributes": Route("GetObjectAttributes", get_object.get_object_attributes, READ, _names("versionId")),
        **_configurations(configuration.OF_OBJECTS, configuration.get_object_configuration, READ),
        "": Route("GetObject", get_object.get_object, READ, _GET),
    },
    (OBJECT, "HEAD"): {"": Route("HeadObject", get_object.head_object, READ, _GET)},
    (OBJECT, "PUT"): {
        f"uploadId+{COPY}": Route("UploadPartCopy", uploads.upload_part_copy, WRITE, _names("partNumber")),
        "uploadId": Route("UploadPart", uploads.upload_part, WRITE, _names("partNumber")),
        "renameObject": Route("RenameObject", copy_object.rename_object, WRITE),
        f"+{COPY}": Route("CopyObject", copy_object.copy_object, WRITE, _names("versionId")),
        "": Route("PutObject", put_object.put_object, WRITE, _names("versionId partNumber")),
    },
    (OBJECT, "POST"): {
        "uploads": Route("CreateMultipartUpload", uploads.create_multipart_upload, WRITE),
        "uploadId": Route("CompleteMultipartUpload", uploads.complete_multipart_upload, WRITE),
    },
    (OBJECT, "DELETE"): {
        "uploadId": Route("AbortMultipartUpload", uploads.abort_multipart_upload, WRITE),
        "": Route("DeleteObject", delete_objects.delete_object, DELETE, _names("versionId")),
    },
}

for _routes in ROUTES.values():
    for _mark, _route in _routes.items():
        _routes[_mark] = _route._replace(query=_route.query | {_mark.partition("+")[0]})

# Sub-resources that exist here with some methods. With another method they are not an operation at all.
_HERE = frozenset(
    mark.partition("+")[0] for routes in ROUTES.values() for mark in routes if mark.partition("+")[0] != "list-type"
) - {""}


def find(request: S3Request) -> Route:
    """Returns the route of a request. Raises NotImplemented and MethodNotAllowed. The query is checked later, when the
    user is known."""
    if request.method == "OPTIONS":
        raise _preflight(request)
    refuse_unsupported(request.headers)
    level = OBJECT if request.key else BUCKET if request.bucket else SERVICE
    routes = ROUTES.get((level, request.method))
    if routes is None:
        raise S3Error("MethodNotAllowed")
    for mark, route in routes.items():
        if mark and _fits(mark, request):
            return route
    if "" not in routes:
        raise _unknown(next(iter(request.query), ""), request)
    return routes[""]


def check_query(route: Route, request: S3Request) -> None:
    """Refuses parameters that change the meaning of a request, because they must not be ignored. Raises NotImplemented,
    and also NoSuchVersion, because every object has one version, which is `null`."""
    query = request.query
    for name in query.keys() - route.query - _ALWAYS:
        if not name.lower().startswith("x-amz-"):
            raise _unknown(name, request)
    if query.get("versionId", "null") not in ("", "null"):
        raise S3Error("NoSuchVersion", VersionId=query["versionId"][:1024])
    if route.name == "PutObject" and "partNumber" in query:
        raise S3Error("InvalidArgument", "A part number needs an upload id.", ArgumentName="uploadId")


def _preflight(request: S3Request) -> S3Error:
    """Returns the error for the request that a browser sends before the real one. Other sites are not allowed here."""
    for name in ("origin", "access-control-request-method"):
        if name not in request.headers:
            return S3Error("BadRequest", f"Insufficient information. {name.title()} request header needed.")
    return S3Error("AccessForbidden")


def _unknown(name: str, request: S3Request) -> S3Error:
    if not name or (name in _HERE and name not in ("versioning", *configuration.OF_BUCKETS)):
        return S3Error("MethodNotAllowed")
    return S3Error("NotImplemented", f"The query parameter {name[:64]!r} is not implemented for {request.method} here.")


def _fits(mark: str, request: S3Request) -> bool:
    name, plus, header = mark.partition("+")
    return (not name or name in request.query) and (not plus or header in request.headers)
