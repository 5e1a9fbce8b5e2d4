"""Errors as users of file systems expect them. Each has the error of Lochan as its cause, and keeps its text."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from lochan.errors import (
    AlreadyExists,
    Conflict,
    DiskFull,
    Gone,
    Invalid,
    LochanError,
    NotFound,
    PreconditionFailed,
    Refused,
    Retry,
)

# The first that matches counts.
_CODES: tuple[tuple[type[LochanError], int], ...] = (
    (NotFound, errno.ENOENT),
    (Gone, errno.ENOENT),
    (AlreadyExists, errno.EEXIST),
    (PreconditionFailed, errno.EEXIST),  # raised by writes that must not replace anything
    (Conflict, errno.EBUSY),
    (Refused, errno.EACCES),
    (Invalid, errno.EINVAL),
    (DiskFull, errno.ENOSPC),
    (Retry, errno.EAGAIN),
)


@contextmanager
def os_errors(path: str) -> Iterator[None]:
    """Turns errors of Lochan into OSErrors, which become FileNotFoundError, FileExistsError or PermissionError if there
    is a class for their code."""
    try:
        yield
    except LochanError as error:
        raise os_error(error, path) from error


def os_error(error: LochanError, path: str) -> OSError:
    code = next((code for kind, code in _CODES if isinstance(error, kind)), errno.EIO)
    if code == errno.EAGAIN:  # its own class would be that of files that do not block
        return ConnectionError(f"{error}: {path!r}")
    return OSError(code, str(error), path)
