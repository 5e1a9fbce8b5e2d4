"""The audit log: which user called which verb on what, and whether it was denied or failed."""

import logging

from lochan.access.rights import Denied
from lochan.api.wrappers.records import AuditLine
from lochan.api.wrappers.stack import Caller

_log = logging.getLogger("lochan.audit")


def log_call(caller: Caller, line: AuditLine) -> None:
    """What is denied is worth a line in every log; the rest, where somebody asks for it."""
    level = logging.INFO if isinstance(line.error, Denied) else logging.DEBUG
    outcome = "done" if line.error is None else "denied" if isinstance(line.error, Denied) else "failed"
    _log.log(level, "%s from %s: %s %s: %s", caller.user, caller.source, line.verb, line.about, outcome)
