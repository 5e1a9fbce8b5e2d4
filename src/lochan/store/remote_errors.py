"""What obstore's errors mean in our words.

obstore tells most things only in its message, so the status and the store's own code are read from there. What is not
known for certain is Transient: never a success, never a conflict, never an absence.
"""

import re

from obstore import exceptions

from lochan.errors import AlreadyExists, Invalid, LochanError, NotFound, Transient, Unavailable

RAISED = (exceptions.BaseError, OSError, ValueError)  # a missing object is a FileNotFoundError, a bad path a ValueError

_STATUS = re.compile(r"status code: (\d{3})")
_CODE = re.compile(r"<Code>(\w+)</Code>")
_DETAIL = re.compile(r"<Message>(.*?)</Message>", re.DOTALL)
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_BAD_REQUEST = ("KeyTooLong", "InvalidBucketName", "InvalidURI", "InvalidArgument", "InvalidObjectName", "TooLarge")
_BAD_CREDENTIALS = (
    "ExpiredToken",
    "InvalidToken",
    "InvalidAccessKeyId",
    "SignatureDoesNotMatch",
    "AuthorizationHeader",
)
_METADATA_SERVICE = "169.254.169.254"  # where a cloud machine asks for credentials when none are given


def translate(error: Exception, url: str, path: str, *, writing: bool = False, creating: bool = False) -> LochanError:
    text = str(error).partition("\n\nDebug source")[0]
    status = status_of(error)
    code = _first(_CODE, text)
    what = f"{url}/{path}: {_summary(text, status, code)}"
    if any(name in text for name in _NO_BUCKET) or (writing and isinstance(error, FileNotFoundError)):
        # Not NotFound: that says that one object is absent, and a lake whose bucket is gone must not look empty.
        return Unavailable(f"{url}: the bucket does not exist", hint="make the bucket, or correct the lake's URL")
    if isinstance(error, FileNotFoundError):
        return NotFound(f"{path} is not in {url}")
    if isinstance(error, exceptions.AlreadyExistsError | exceptions.PreconditionError):
        return _conflict(what, url, path, status, code) if creating else Transient(what)
    if isinstance(error, ValueError | exceptions.InvalidPathError | exceptions.UnknownConfigurationKeyError):
        return Invalid(what)
    return _by_status(what, text, status, code)


def status_of(error: Exception) -> int:
    """The HTTP status of the answer; 0 when there was none."""
    return int(_first(_STATUS, str(error)) or 0)


def _conflict(what: str, url: str, path: str, status: int, code: str) -> LochanError:
    """A 412 is decided. A 409 is not, on S3: two writers met, and either, or neither, may have won; obstore reports it
    as AlreadyExists all the same. Azure alone says 409 with a code when the blob is there."""
    if status == 412 or "AlreadyExists" in code:
        return AlreadyExists(f"{path} is already in {url}")
    return Transient(what)


def _by_status(what: str, text: str, status: int, code: str) -> LochanError:
    if status in (401, 403) or any(name in code for name in _BAD_CREDENTIALS):
        return Unavailable(what, hint=_SKEWED if "Skewed" in code else _CREDENTIALS)
    if status == 400 and any(name in code for name in _BAD_REQUEST):
        return Invalid(what)
    if status in (404, 405, 501):
        return Unavailable(what, hint="check the lake's URL and endpoint; the store must know conditional writes")
    if "redirect" in text:
        return Unavailable(what, hint="check the region and the endpoint of the store")
    return Transient(what, hint=_CREDENTIALS if _METADATA_SERVICE in text else "")


def _summary(text: str, status: int, code: str) -> str:
    if not code:
        return text.partition("\n")[0][-300:]
    detail = _first(_DETAIL, text).strip()
    return " ".join(part for part in (str(status or ""), f"{code}:" if detail else code, detail) if part)


def _first(pattern: re.Pattern[str], text: str) -> str:
    found = pattern.search(text)
    return found.group(1) if found else ""


_CREDENTIALS = "check the credentials given for this store, and that they may read, write, list and delete there"
_SKEWED = "this machine's clock and the store's are too far apart"
