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
    │   │   ├── QueryError          a query that is wrong at a place in its text (kind invalid)
    │   │   ├── NothingToDo         it would change nothing
    │   │   └── SameRef             source and destination are one and the same
    │   ├── Refused               the rules of the lake or the store forbid it
    │   │   ├── Dirty               there are uncommitted changes
    │   │   ├── Protected           the branch is protected against it
    │   │   │   └── RulesUnmet        a pull request that may not be merged yet, for these reasons (kind protected)
    │   │   ├── ReadOnly            nothing in the repository may change
    │   │   └── Unavailable         the store does not let us in, takes no writes, or is gone: its operator must act
    │   └── FutureFormat          written by a newer Lochan than this one
    ├── Conflict                another request was first
    │   ├── AlreadyExists         the name is taken
    │   ├── KeyReused             an idempotency key came back with another request
    │   ├── ConcurrentCommit      the branch was moved meanwhile, and the changes do not apply to where it is now
    │   │   └── RaceLost            others were faster again and again (kind concurrent-commit)
    │   ├── PreconditionFailed    the object does not meet the condition of the request
    │   │   └── HookRefused         a hook of the repository has refused the change (kind hook-refused)
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
_WIDTH = 100  # of the line of a query that is shown; a longer one is cut around the place


class LochanError(Exception):
    kind: ClassVar[str] = "error"

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        # What the user can do about it, a sentence. A command in it is complete and in back-quotes, so that it can be
        # pasted. It has REPO if the repository's name is not known.
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles the error by its attributes, whatever arguments its class needs. `among` is left out, because another
        process cannot ask for the existing names."""
        return _arrive, (type(self), self.args, {key: each for key, each in vars(self).items() if key != "among"})

    def hint_about(self, repository: str) -> str:
        """Returns the hint, with the repository's name in its commands."""
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


class QueryError(Invalid):
    """A query that is wrong at a place in its text. `line` and `column` count from 1, `length` in characters; the place
    may be one character behind the end of the text."""

    def __init__(self, message: str, text: str, span: tuple[int, int], *, hint: str = "") -> None:
        """`span` is the start and the end of the wrong part, in characters of the query's text."""
        super().__init__(message, hint=hint)
        start = max(0, min(span[0], len(text)))
        self.text = text
        self.start = start
        self.line = text.count("\n", 0, start) + 1
        self.column = start - (text.rfind("\n", 0, start) + 1) + 1
        self.length = max(1, min(span[1], len(text)) - start)

    @property
    def place(self) -> str:
        """The line, and carets under the place, ready to print."""
        line = self.text.split("\n")[self.line - 1]
        at, length = self.column - 1, max(1, min(self.length, len(line) - self.column + 1))
        cut = max(0, min(at - _WIDTH // 2, len(line) - _WIDTH))
        shown = "".join(each if each.isprintable() else " " for each in line[cut : cut + _WIDTH])
        shown, at = ("…" + shown[1:], at - cut) if cut else (shown, at)
        return f"{shown}\n{' ' * at}{'^' * min(length, _WIDTH - at + 1)}"

    def __str__(self) -> str:
        where = f"line {self.line}, column {self.column}"
        return f"{self.message} ({where})\n{self.place}" + (f"\n{self.hint}" if self.hint else "")


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


class RulesUnmet(Protected):
    """A pull request that may not be merged yet. `reasons` has a text for every rule that is not met."""

    def __init__(self, message: str, *, hint: str = "", reasons: Sequence[str] = ()) -> None:
        super().__init__(message, hint=hint)
        self.reasons = tuple(reasons)


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


class RaceLost(ConcurrentCommit):
    pass


class PreconditionFailed(Conflict):
    kind = "precondition-failed"


class HookRefused(PreconditionFailed):
    kind = "hook-refused"


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


def _arrive(kind: type[LochanError], args: tuple[Any, ...], state: dict[str, Any]) -> LochanError:
    """Makes an error that was pickled."""
    made = kind.__new__(kind, *args)
    made.args = args
    made.__dict__.update(state)
    return made


def from_os_error(error: OSError) -> LochanError:
    """Returns the error of Lochan that stands for one of the operating system."""
    reason = error.strerror or str(error)
    message = reason if error.filename is None else f"{os.fsdecode(error.filename)}: {reason}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return DiskFull(message, hint="make room and try again; what was there before is untouched")
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return Refused(message, hint="check the permissions, or use another folder")
    return LochanError(message)
