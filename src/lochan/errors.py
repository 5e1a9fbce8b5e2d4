"""Every error that Lochan raises on purpose, grouped by what the caller would do next.

    LochanError
    ├── Retry                   do it again later, nothing is wrong with the request
    │   ├── Transient             the store did not answer properly; a read may simply be repeated
    │   ├── Unknown               a write may or may not have happened, and may still happen
    │   └── DiskFull              no room; what was there before is untouched
    ├── Mistake                 the request or the set-up must change
    │   ├── NotFound              no such file, repository, ref …
    │   ├── Gone                  the bytes of a known object are not on the store any more
    │   ├── Invalid               a value that cannot be taken
    │   │   ├── BadDigest           a body whose checksum is not the declared one
    │   │   ├── BadPart             a part of an upload that was not put, or is another one
    │   │   ├── BadPartOrder        parts of an upload that do not ascend
    │   │   ├── PartTooSmall        a part of an upload that only the last may be
    │   │   ├── Ambiguous           a name that could mean several things
    │   │   ├── QueryError          a query that is wrong at a place in its text (query/errors.py; kind invalid)
    │   │   ├── NothingToDo         it would change nothing
    │   │   └── SameRef             source and destination are one and the same
    │   ├── Refused               the rules of the lake or the store forbid it
    │   │   ├── Dirty               there are uncommitted changes
    │   │   ├── Protected           the branch is protected against it
    │   │   ├── ReadOnly            nothing in the repository may change
    │   │   └── Unavailable         the store does not let us in, takes no writes, or is gone: its operator must act
    │   └── FutureFormat          written by a newer Lochan than this one
    ├── Conflict                somebody else was first
    │   ├── AlreadyExists         the name is taken
    │   ├── KeyReused             an idempotency key came back with another request
    │   ├── ConcurrentCommit      the branch was moved meanwhile, and the changes do not apply to where it is now
    │   ├── PreconditionFailed    the object is not as the request says it must be
    │   └── PathsInTheWay         others changed the same paths: committed, or staged and not yet committed
    └── Corrupt                 bytes on the store are not what was written; report it

`kind` is a stable code, append-only: the CLI's exit codes, the HTTP status and the S3 code are tables over it.
"""

import errno
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

_COMMAND = re.compile("`lochan [^`]*`")
_REPO = re.compile(r"(?<= )REPO\b")


class LochanError(Exception):
    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        # What the user can do about it, a sentence. A command in it is complete and in back-quotes, so that it can be
        # pasted. It says REPO if the repository's name is not known.
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def hint_about(self, repository: str) -> str:
        """The hint, with the repository's name in its commands."""
        return _COMMAND.sub(lambda command: _REPO.sub(repository, command[0]), self.hint)

    @property
    def place(self) -> str:
        """Lines to print that show where the error is. Empty if there is no text to show."""
        return ""


class Retry(LochanError):
    kind = "retry"


class Transient(Retry):
    kind = "transient"


class Unknown(Retry):
    kind = "unknown"


class DiskFull(Retry):
    kind = "disk-full"


class Mistake(LochanError):
    kind = "mistake"


class NotFound(Mistake):
    kind = "not-found"

    name = ""  # the name that was not found
    among: Callable[[], Iterable[str]] | None = None  # the existing names, only for users who may see all of them

    def named(self, name: str, among: Callable[[], Iterable[str]] | None = None) -> "NotFound":
        """Lets the code that shows the error suggest a similar name."""
        self.name, self.among = name, among
        return self


class Gone(Mistake):
    kind = "gone"


class Invalid(Mistake):
    kind = "invalid"


class BadDigest(Invalid):
    kind = "bad-digest"


class BadPart(Invalid):
    kind = "bad-part"


class BadPartOrder(Invalid):
    kind = "bad-part-order"


class PartTooSmall(Invalid):
    kind = "part-too-small"


class Ambiguous(Invalid):
    kind = "ambiguous"


class NothingToDo(Invalid):
    kind = "nothing-to-do"


class SameRef(Invalid):
    kind = "same-ref"


class Refused(Mistake):
    kind = "refused"


class Dirty(Refused):
    kind = "dirty"


class Protected(Refused):
    kind = "protected"


class ReadOnly(Refused):
    kind = "read-only"


class Unavailable(Refused):
    kind = "unavailable"


class FutureFormat(Mistake):
    kind = "future-format"


class Conflict(LochanError):
    kind = "conflict"


class AlreadyExists(Conflict):
    kind = "already-exists"


class KeyReused(Conflict):
    kind = "key-reused"


class ConcurrentCommit(Conflict):
    kind = "concurrent-commit"


class PreconditionFailed(Conflict):
    kind = "precondition-failed"


class PathsInTheWay(Conflict):
    kind = "paths-in-the-way"

    def __init__(
        self,
        message: str,
        *,
        paths: Sequence[str],
        count: int = 0,
        hint: str = "",
        keys: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.paths = tuple(paths)  # the first of them
        self.keys = tuple(keys)  # of rows: the values of their keys
        self.count = count or len(self.paths)


class Corrupt(LochanError):
    kind = "corrupt"


def from_os_error(error: OSError) -> LochanError:
    """The operating system's error as one of ours."""
    reason = error.strerror or str(error)
    message = reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(message, hint="make room and try again; what was there before is untouched")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return Refused(message, hint="check the permissions, or use another folder")
    return LochanError(message)
