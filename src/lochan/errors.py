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
    │   │   └── BadDigest           a body whose checksum is not the declared one
    │   ├── Refused               the rules of the lake or the store forbid it
    │   └── FutureFormat          written by a newer Lochan than this one
    ├── Conflict                somebody else was first
    │   ├── AlreadyExists         the name is taken
    │   └── KeyReused             an idempotency key came back with another request
    └── Corrupt                 bytes on the store are not what was written; report it

`kind` is a stable code, append-only: the CLI's exit codes, the HTTP status and the S3 code are tables over it.
"""

from typing import ClassVar


class LochanError(Exception):
    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint  # what the user can do about it, a sentence

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


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


class Gone(Mistake):
    kind = "gone"


class Invalid(Mistake):
    kind = "invalid"


class BadDigest(Invalid):
    kind = "bad-digest"


class Refused(Mistake):
    kind = "refused"


class FutureFormat(Mistake):
    kind = "future-format"


class Conflict(LochanError):
    kind = "conflict"


class AlreadyExists(Conflict):
    kind = "already-exists"


class KeyReused(Conflict):
    kind = "key-reused"


class Corrupt(LochanError):
    kind = "corrupt"
