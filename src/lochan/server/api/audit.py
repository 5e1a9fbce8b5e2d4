"""Records the requests of the API: rows of the usage log, from which `:audit` is read, and lines of the audit log. A
use of something in a repository has a row by `note`. Every other call, such as a change of users and rights, has one by
`audit`. Both include denied calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lochan.access.requester import address_of
from lochan.api.wrappers.records import AuditLine, Caller, Use
from lochan.errors import LochanError
from lochan.server.api.errors import status_of
from lochan.server.logs import log_call
from lochan.usage.log import UsageRow

if TYPE_CHECKING:
    from lochan.clock import Clock
    from lochan.usage.log import UsageLog

_DONE, _FAILED = 200, 500


class CallLog:
    """Logs the calls of one request, for the audit."""

    def __init__(self, usage: UsageLog, clock: Clock, caller: Caller) -> None:
        self._usage = usage
        self._clock = clock
        self._caller = caller

    def note(self, use: Use) -> None:
        self._add(use.operation, use.repository, use.ref, use.path, use.size, use.error, use.about)

    def audit(self, line: AuditLine) -> None:
        log_call(self._caller, line)
        if not line.is_noted:
            self._add(line.verb, "", "", "", 0, line.error, line.names)

    def _add(
        self, verb: str, repository: str, ref: str, path: str, size: int, error: BaseException | None, about: str
    ) -> None:
        caller = self._caller
        who = caller.client, address_of(caller.source), about, caller.key
        row = UsageRow(self._clock.wall(), caller.user, verb, repository, ref, path, size, status_of_call(error), *who)
        self._usage.add(row)


def status_of_call(error: BaseException | None) -> int:
    """Returns the status of the answer to a request whose only call ended so."""
    if error is None:
        return _DONE
    return status_of(error) if isinstance(error, LochanError) else _FAILED
