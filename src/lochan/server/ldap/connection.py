"""One connection to the directory, by ldap3. Every failure ends as one error with a reason for the log.

Referrals are not followed: they would carry the password to wherever the directory points."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from math import ceil
from typing import Any, NamedTuple

from ldap3 import ANONYMOUS, DEREF_NEVER, IP_SYSTEM_DEFAULT, NONE, SIMPLE, SUBTREE, SYNC, Connection, Server, Tls
from ldap3.core import results
from ldap3.core.exceptions import LDAPException

from lochan.server.ldap.settings import DirectorySettings

# A directory's results for a name and a password that do not belong together, or for an account that is locked, has
# expired, or has no password.
_WRONG_PASSWORD = frozenset(
    {
        results.RESULT_CONSTRAINT_VIOLATION,
        results.RESULT_NO_SUCH_OBJECT,
        results.RESULT_INAPPROPRIATE_AUTHENTICATION,
        results.RESULT_INVALID_CREDENTIALS,
        results.RESULT_INSUFFICIENT_ACCESS_RIGHTS,
        results.RESULT_UNWILLING_TO_PERFORM,
    }
)


class DirectoryFailure(Exception):
    """The directory gave no usable answer. The text is for the server's log: it names the directory's parts, and no
    password."""


class DirectoryEntry(NamedTuple):
    dn: str
    attributes: Mapping[str, Sequence[bytes]]  # values by name, in any spelling


class VerifiedTls(Tls):
    """Verifies certificates as Python does: ldap3's own check of names accepts no IP addresses."""

    def __init__(self, ca_file: str | None, host: str) -> None:
        super().__init__(validate=ssl.CERT_REQUIRED)
        self._context = ssl.create_default_context(cafile=ca_file)
        self._host = host

    def wrap_socket(self, connection: Any, do_handshake: bool = False) -> None:
        connection.socket = self._context.wrap_socket(connection.socket, server_hostname=self._host)


class DirectoryConnection:
    """A connection for one login, on one thread; only `abort` may be called on another."""

    def __init__(self, settings: DirectorySettings) -> None:
        self._settings = settings
        self._connection: Connection | None = None
        self._is_aborted = False

    def open(self) -> None:
        """Opens the connection, encrypted if it is configured so. Raises DirectoryFailure."""
        address, wait_s = self._settings.address, ceil(self._settings.timeout_s)
        with self._report_failures("cannot be reached"):
            tls = VerifiedTls(self._settings.ca_file, address.host) if address.is_tls or address.starts_tls else None
            host = f"[{address.host}]" if ":" in address.host else address.host
            server = Server(
                f"{'ldaps' if address.is_tls else 'ldap'}://{host}:{address.port}",
                tls=tls,
                get_info=NONE,
                connect_timeout=wait_s,
                mode=IP_SYSTEM_DEFAULT,
            )
            self._connection = Connection(
                server,
                client_strategy=SYNC,
                auto_referrals=False,
                auto_range=False,
                auto_escape=False,
                check_names=False,
                read_only=True,
                receive_timeout=wait_s,
            )
            self._connection.open(read_server_info=False)
            if address.starts_tls and not self._connection.start_tls(read_server_info=False):
                raise DirectoryFailure(f"the directory {address} does not start TLS")

    def bind(self, dn: str, password: str) -> bool:
        """Returns whether the password is that of the entry. Raises DirectoryFailure. REQUIRES: neither is empty, since
        a directory treats a name without a password as anonymous, and accepts that."""
        assert dn and password
        # Bytes, as other clients send them, because ldap3 would first convert a text in another way.
        result = self._bind(SIMPLE, dn, password.encode())
        if result["result"] in _WRONG_PASSWORD:
            return False
        if result["result"] != results.RESULT_SUCCESS:
            raise self._failure("does not check passwords", result)
        return True

    def bind_reader(self) -> None:
        """Binds as the account that reads the directory. Raises DirectoryFailure."""
        dn, password = self._settings.bind_dn, self._settings.bind_password
        result = self._bind(SIMPLE, dn, password.encode()) if dn else self._bind(ANONYMOUS, None, None)
        if result["result"] != results.RESULT_SUCCESS:
            raise self._failure(f"does not let {dn!r} in" if dn else "wants a name of who reads it", result)

    def _bind(self, kind: str, dn: str | None, password: bytes | None) -> Mapping[str, Any]:
        connection = self._open_connection
        with self._report_failures("broke off while it was asked to check a password"):
            connection.authentication, connection.user, connection.password = kind, dn, password
            try:
                connection.bind(read_server_info=False)
            finally:
                connection.password = None
            return _result(connection)

    def search(self, base: str, text: str, attributes: Sequence[str], most: int) -> list[DirectoryEntry]:
        """Returns the entries below `base` that the filter matches. Raises DirectoryFailure, also if there are more
        than `most`, or more than the directory returns."""
        connection = self._open_connection
        with self._report_failures("broke off while it was searched"):
            connection.search(
                base,
                text,
                SUBTREE,
                DEREF_NEVER,
                attributes=list(attributes),
                size_limit=most,
                time_limit=ceil(self._settings.timeout_s),
            )
            result = _result(connection)
            found = [
                DirectoryEntry(each["dn"], each["raw_attributes"])
                for each in connection.response or ()
                if each["type"] == "searchResEntry"
            ]
        if result["result"] != results.RESULT_SUCCESS:
            raise self._failure(f"cannot be searched below {base!r} for {text}", result)
        return found

    def abort(self) -> None:
        """Ends any call that waits for the directory, with DirectoryFailure."""
        self._is_aborted = True
        opened = self._connection
        if opened is not None and opened.socket is not None:
            with suppress(OSError):
                opened.socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        if self._connection is None:
            return
        with suppress(Exception):  # its answer does not matter
            self._connection.unbind()
        if self._connection.socket is not None:  # ldap3 leaves it open if it could not connect
            self._connection.socket.close()

    @property
    def _open_connection(self) -> Connection:
        assert self._connection is not None
        if self._is_aborted:
            raise DirectoryFailure("the time is over")
        return self._connection

    @contextmanager
    def _report_failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except DirectoryFailure:
            raise
        except Exception as error:  # its own errors, those of sockets, and whatever its decoder stumbles on
            # For an error that is not meant to be read, only its type is shown: its text might contain a password.
            reason = str(error) if isinstance(error, LDAPException | OSError) else type(error).__name__
            raise DirectoryFailure(f"the directory {self._settings.address} {what}: {reason}") from None

    def _failure(self, what: str, result: Mapping[str, Any]) -> DirectoryFailure:
        words = f"{result['description']} ({result['result']})"
        message = str(result.get("message") or "")[:200]
        return DirectoryFailure(
            f"the directory {self._settings.address} {what}: {words}{': ' + repr(message) if message else ''}"
        )


def _result(connection: Connection) -> Mapping[str, Any]:
    found: Mapping[str, Any] = connection.result
    return found
