"""The upload that a request names."""

from collections.abc import Iterator
from contextlib import contextmanager

from lochan.errors import NotFound
from lochan.server.gateway.places import Place
from lochan.server.gateway.request import Request
from lochan.server.gateway.wire.errors import S3Error
from lochan.versioning.state.uploads import OpenUpload


def found_upload(place: Place, request: Request, *, to_abort: bool = False) -> OpenUpload:
    """Raises NoSuchUpload, also for one of another object, and of a branch that is gone, unless it is to be aborted.
    The refs are of this request's moment."""
    id = request.query["uploadId"]
    upload = place.repository.folded().uploads.find(id)
    if upload is None or not is_of(upload, place) or not (place.resolved or to_abort):
        raise S3Error("NoSuchUpload", UploadId=id[:128])
    return upload


def is_of(upload: OpenUpload, place: Place) -> bool:
    opened = upload.opened
    return (opened.branch, opened.workspace, opened.path) == (place.branch, place.workspace, place.path)


@contextmanager
def still_open(upload: OpenUpload) -> Iterator[None]:
    """Raises NoSuchUpload for one that another has completed or aborted meanwhile."""
    try:
        yield
    except NotFound:
        raise S3Error("NoSuchUpload", UploadId=upload.id) from None
