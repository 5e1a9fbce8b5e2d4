"""Translates our errors into S3's, with one table over the kinds in `errors.py`."""

from collections.abc import Mapping

from lochan.api.conditions import ConditionFailed
from lochan.errors import LochanError
from lochan.server.gateway.object_headers import failed_condition
from lochan.server.gateway.wire.errors import S3Error

CODES: Mapping[str, str] = {
    "retry": "ServiceUnavailable",
    "transient": "ServiceUnavailable",
    "unknown": "ServiceUnavailable",
    "disk-full": "ServiceUnavailable",
    "not-found": "NoSuchKey",
    "gone": "NoSuchKey",
    "invalid": "InvalidArgument",
    "bad-digest": "BadDigest",
    "bad-part": "InvalidPart",
    "bad-part-order": "InvalidPartOrder",
    "part-too-small": "EntityTooSmall",
    "ambiguous": "InvalidArgument",
    "nothing-to-do": "InvalidRequest",
    "same-ref": "InvalidRequest",
    "refused": "AccessDenied",
    "dirty": "OperationAborted",
    "protected": "AccessDenied",
    "read-only": "AccessDenied",
    "unavailable": "ServiceUnavailable",
    "conflict": "OperationAborted",
    "already-exists": "BucketAlreadyExists",
    "key-reused": "IdempotentParameterMismatch",
    "concurrent-commit": "OperationAborted",
    "precondition-failed": "PreconditionFailed",
    "hook-refused": "PreconditionFailed",
    "paths-in-the-way": "OperationAborted",
}


def as_s3(error: LochanError, store: str) -> S3Error | None:
    """Returns the S3 error, or None for a failure of the server itself, such as a damaged file. Clients do not learn
    the URL of the store."""
    if isinstance(error, ConditionFailed):
        return failed_condition(error)
    code = CODES.get(error.kind)
    if code is None:
        return None
    found = S3Error(code, _within(error.message, store))
    return found.with_header("retry-after", "1") if code == "ServiceUnavailable" else found


def _within(message: str, store: str) -> str:
    """Returns the message with the files of the store named by their paths inside the store."""
    for place in (store, store.removeprefix("file://")):
        message = message.replace(f"{place}/", "").replace(place, "the store")
    return message
