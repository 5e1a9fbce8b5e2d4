"""The audit log: a denied call is seen in every log, and no secret in any."""

import logging

import pytest

from lochan.access.rights import Denied
from lochan.api.wrappers.records import AuditLine, Caller
from lochan.errors import NotFound
from lochan.server.logs import log_call

ADA = Caller("ada", "api", "127.0.0.1:41822", 0.0)


@pytest.mark.parametrize(
    "error, level, outcome",
    [
        (None, logging.DEBUG, "done"),
        (Denied("access to `shop` is denied"), logging.INFO, "denied"),
        (NotFound("no such branch"), logging.DEBUG, "failed"),
    ],
)
def test_a_call_is_logged(error: Exception | None, level: int, outcome: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "lochan.audit"):
        log_call(ADA, AuditLine("Ref.stat", "<Ref shop@main> path='a'", error))
    assert [(each.levelno, each.getMessage()) for each in caplog.records] == [
        (level, f"ada from 127.0.0.1:41822: Ref.stat <Ref shop@main> path='a': {outcome}")
    ]
