"""What a database's errors mean to a journal: certainly nothing done, or unknown."""

from types import SimpleNamespace

import psycopg
import pytest
from psycopg import errors

from lochan.errors import AlreadyExists, DiskFull, LochanError, NotFound, Refused, Transient, Unavailable
from lochan.journal.postgres import _no_connection, _refusal


class Panic(errors.DiskFull):
    """The server itself gave up while it wrote its log."""

    diag = SimpleNamespace(severity_nonlocalized="PANIC")  # type: ignore[assignment]


@pytest.mark.parametrize(
    "error, meaning",
    [
        pytest.param(psycopg.OperationalError("server closed the connection"), Transient, id="connection lost"),
        pytest.param(psycopg.InterfaceError("the connection is closed"), Transient, id="connection closed"),
        pytest.param(errors.AdminShutdown(), Transient, id="shut down"),
        pytest.param(errors.CrashShutdown(), Transient, id="crashed"),
        pytest.param(errors.CannotConnectNow(), Transient, id="starting up"),
        pytest.param(errors.TooManyConnections(), Transient, id="too many connections"),
        pytest.param(errors.SerializationFailure(), Transient, id="serialisation"),
        pytest.param(errors.DeadlockDetected(), Transient, id="deadlock"),
        pytest.param(errors.QueryCanceled(), Transient, id="cancelled"),
        pytest.param(errors.IoError(), Transient, id="a failing disk"),
        pytest.param(errors.UniqueViolation(), AlreadyExists, id="number taken"),
        pytest.param(errors.DiskFull(), DiskFull, id="disk full"),
        pytest.param(Panic(), Transient, id="disk full under the log: open"),
        pytest.param(errors.ReadOnlySqlTransaction(), Refused, id="read-only"),
        pytest.param(errors.InsufficientPrivilege(), Refused, id="no right"),
        pytest.param(errors.UndefinedTable(), Refused, id="tables dropped"),
    ],
)
def test_a_command_that_failed(error: psycopg.Error, meaning: type[LochanError]) -> None:
    found = _refusal(error, "told")
    assert isinstance(found, meaning)
    assert found.message == "told"


@pytest.mark.parametrize(
    "words, meaning",
    [
        ('FATAL: database "lochan" does not exist', NotFound),
        ('FATAL: role "lochan" does not exist', Unavailable),
        ('FATAL: password authentication failed for user "lochan"', Unavailable),
        ("fe_sendauth: no password supplied", Unavailable),
        ('FATAL: no pg_hba.conf entry for host "10.0.0.1"', Unavailable),
        ('FATAL: permission denied for database "lochan"', Unavailable),
        ("session is read-only", Unavailable),
        ("Connection refused", Transient),
        ("FATAL: the database system is starting up", Transient),
        ("FATAL: sorry, too many clients already", Transient),
        ("connection timeout expired", Transient),
    ],
)
def test_a_connection_that_failed(words: str, meaning: type[LochanError]) -> None:
    found = _no_connection(f"postgresql://db:5432/lochan: connection failed: {words}")
    assert type(found) is meaning
    assert found.hint
