"""A journal's slots as rows of PostgreSQL, for lakes that need an append in about a millisecond.

    lochan.lakes     lake                       which lakes keep their journals in this database
    lochan.records   lake, journal, number      the slots; a record is created by INSERT
    lochan.segments  lake, journal, number      which groups are packed; their bytes are in the bucket, like any lake's

Rows only carry bytes, like the objects of `slots.py`. psycopg is imported only here.
"""

import asyncio
import os
import re
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import TransactionStatus

from lochan.errors import (
    AlreadyExists,
    Corrupt,
    DiskFull,
    Invalid,
    LochanError,
    NotFound,
    Refused,
    Transient,
    Unavailable,
)
from lochan.failpoints import fp
from lochan.journal.slots import ObjectSlots, SlotListing

URL_SETTING = "set journal.postgres.url, or LOCHAN_JOURNAL__POSTGRES__URL: postgresql://user:password@host/database"

_COMMAND_S = 15.0  # a command that takes longer is abandoned; this is half of the time for which an append is tried
_CONNECT_S = 5
_LISTED_AT_ONCE = 1_000

Row = tuple[Any, ...]


class PostgresSlots:
    """The slots of one journal. The segments' bytes go to `bucket`, whose group size is this journal's too."""

    def __init__(self, database: "PostgresConnection", lake: str, journal: str, bucket: ObjectSlots) -> None:
        self._database = database
        self._bucket = bucket
        self._key = (lake, journal)

    @property
    def group(self) -> int:
        return self._bucket.group

    @property
    def aged(self) -> bool:
        return False  # finding a segment costs one index look-up

    @property
    def name(self) -> str:
        return f"{self._database.name}/{self._key[1]}"

    async def create(self, number: int, data: bytes) -> None:
        # A conflict returns no row instead of an error; otherwise every lost race would fill the server's log.
        created = await self._database.write(
            "INSERT INTO lochan.records (lake, journal, number, data) VALUES (%s, %s, %s, %b)"
            " ON CONFLICT DO NOTHING RETURNING number",
            (*self._key, number, data),
        )
        if not created:
            raise AlreadyExists(f"record {number} is already in {self.name}")

    def ends_at(self, number: int) -> bool:
        return False

    async def read(self, number: int) -> bytes | None:
        return (await self.read_many(number, 1))[0]

    async def read_many(self, first: int, count: int) -> list[bytes | None]:
        rows = await self._database.read(
            "SELECT number, data FROM lochan.records"
            " WHERE lake = %s AND journal = %s AND number >= %s AND number < %s ORDER BY number",
            (*self._key, first, first + count),
        )
        found: list[bytes | None] = []
        for number, data in rows:
            if number != first + len(found):
                break
            found.append(data)
        return found if len(found) == count else [*found, None]

    async def delete_many(self, numbers: Sequence[int]) -> None:
        # This is not synced: a row that a crash brings back has a segment, so it is ignored and deleted again.
        await self._database.write(
            "WITH unsynced AS (SELECT set_config('synchronous_commit', 'off', true))"
            " DELETE FROM lochan.records USING unsynced WHERE lake = %s AND journal = %s AND number = ANY(%s)",
            (*self._key, list(numbers)),
        )
        fp("trim.deleted_slot")

    async def first_after(self, number: int) -> int | None:
        rows = await self._database.read(
            "SELECT min(number) FROM lochan.records WHERE lake = %s AND journal = %s AND number > %s",
            (*self._key, number),
        )
        found: int | None = rows[0][0]
        return found

    async def listed(self, below: int) -> AsyncIterator[SlotListing]:
        after = 0
        while True:
            rows = await self._database.read(
                "SELECT number, extract(epoch FROM at)::float8 FROM lochan.records"
                " WHERE lake = %s AND journal = %s AND number > %s AND number < %s ORDER BY number LIMIT %s",
                (*self._key, after, below, _LISTED_AT_ONCE),
            )
            for number, modified in rows:
                yield SlotListing(number, modified)
            if len(rows) < _LISTED_AT_ONCE:
                return
            after = rows[-1][0]

    async def create_segment(self, group: int, data: bytes) -> None:
        """Creates a segment, first in the bucket, then as a row: once the row exists, slots may be deleted, and a
        rebuild has only the bucket."""
        try:
            await self._bucket.create_segment(group, data)
        except AlreadyExists:  # the mirror or another trimmer has created it
            if await self._bucket.read_segment(group) != data:
                raise self._differs(group) from None
        fp("postgres.segment_in_bucket")
        created = await self._database.write(
            "INSERT INTO lochan.segments (lake, journal, number) VALUES (%s, %s, %s)"
            " ON CONFLICT DO NOTHING RETURNING number",
            (*self._key, group),
        )
        if not created:
            raise AlreadyExists(f"segment {group} is already in {self.name}")

    async def read_segment(self, group: int) -> bytes | None:
        if not await self.has_segment(group):
            return None
        data = await self._bucket.read_segment(group)
        if data is None:
            raise Corrupt(
                f"segment {group} of {self.name} is gone from {self._bucket.name}",
                hint="restore it from a copy of the lake",
            )
        return data

    async def has_segment(self, group: int) -> bool:
        return await self.segment_modified(group) is not None

    async def segment_modified(self, group: int) -> float | None:
        rows = await self._database.read(
            "SELECT extract(epoch FROM at)::float8 FROM lochan.segments"
            " WHERE lake = %s AND journal = %s AND number = %s",
            (*self._key, group),
        )
        return rows[0][0] if rows else None

    def _differs(self, group: int) -> Corrupt:
        return Corrupt(
            f"segment {group} of {self.name} is in {self._bucket.name} with other records",
            hint="the database was restored from an old copy, or two databases were used for one lake",
        )


class PostgresConnection:
    """A process's one connection to the database of its lake, opened when first needed; commands take turns.

    Each command is a transaction, and synced when it is answered. The outcome of a command that was sent and not
    answered is open: that is Transient, and only a read is repeated here. The next command connects again.
    """

    def __init__(self, url: str, *, command_s: float = _COMMAND_S) -> None:
        self._options = _options(url)
        self._command_s = command_s
        self._turn = asyncio.Lock()
        self._connection: psycopg.AsyncConnection[Row] | None = None
        self.name = _name(self._options)

    async def write(self, query: str, values: Row) -> list[Row]:
        return await self._command(query, values)

    async def read(self, query: str, values: Row) -> list[Row]:
        try:
            return await self._command(query, values)
        except _Lost:  # often a server that was restarted long ago, unnoticed
            return await self._command(query, values)

    async def register(self, lake: str) -> None:
        """Assigns this database to that lake. Raises what any command raises if it cannot be reached or used."""
        await self.write("INSERT INTO lochan.lakes (lake) VALUES (%s) ON CONFLICT DO NOTHING", (lake,))

    async def check_registered(self, lake: str) -> None:
        """Raises Refused for another lake's database, or a new empty one, which must not look like an empty journal."""
        if not await self.read("SELECT 1 FROM lochan.lakes WHERE lake = %s", (lake,)):
            raise Refused(
                f"the database {self.name} holds no journals of lake {lake}",
                hint="check journal.postgres.url; if the database was lost, restore it before the lake is used",
            )

    async def close(self) -> None:
        async with self._turn:
            await self._hang_up()

    async def _command(self, query: str, values: Row) -> list[Row]:
        # Shielded: if a task is cancelled, psycopg cancels the command, and a server that waits for its standby then
        # commits without it.
        return await asyncio.shield(asyncio.create_task(self._in_turn(query, values)))

    async def _in_turn(self, query: str, values: Row) -> list[Row]:
        async with self._turn:
            connection = await self._open_connection()
            try:
                return await self._execute(connection, query, values)
            except psycopg.Error as error:
                raise _refusal(error, self._message(error)) from error
            finally:
                if connection.pgconn.transaction_status != TransactionStatus.IDLE:
                    await self._hang_up()

    async def _execute(self, connection: psycopg.AsyncConnection[Row], query: str, values: Row) -> list[Row]:
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self._command_s, _shut, connection.pgconn.socket)
        try:
            cursor = await connection.execute(query, values, binary=True)
            return await cursor.fetchall() if cursor.description else []
        finally:
            timer.cancel()

    async def _open_connection(self) -> psycopg.AsyncConnection[Row]:
        if self._connection is None:
            try:
                self._connection = await psycopg.AsyncConnection.connect(**self._options, autocommit=True)
            except psycopg.Error as error:
                raise _no_connection(self._message(error)) from error
            try:
                await self._set_up(self._connection)
            except psycopg.Error as error:
                await self._hang_up()
                raise _refusal(error, self._message(error)) from error
            except BaseException:
                await self._hang_up()
                raise
        return self._connection

    async def _set_up(self, connection: psycopg.AsyncConnection[Row]) -> None:
        """Sets up a connection. The meaning of an answer must not depend on the defaults of a server, a database or a
        role."""
        rows = await self._execute(
            connection,
            "SELECT set_config('synchronous_commit', 'on', false),"
            " set_config('default_transaction_isolation', 'read committed', false),"
            " to_regclass('lochan.segments') IS NULL",
            (),
        )
        if rows[0][2]:
            async with connection.transaction():
                for statement in _TABLES:
                    await self._execute(connection, statement, ())

    async def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    def _message(self, error: psycopg.Error) -> str:
        """Returns the server's message in one line, with its name and without a password."""
        text = " ".join((error.diag.message_primary or str(error)).split())
        password = str(self._options.get("password") or "")
        return f"{self.name}: {text.replace(password, '***') if password else text}"


class _Lost(Transient):
    """The connection broke under a command."""


# These are on somebody's server: columns are only ever added. The lock makes one of several processes create, and the
# rest wait. Records come and go, and are not compressed elsewhere either.
_TABLES = (
    "SELECT pg_advisory_xact_lock(7812455961140843600)",
    "CREATE SCHEMA IF NOT EXISTS lochan",
    """CREATE TABLE IF NOT EXISTS lochan.lakes (
        lake text COLLATE "C" PRIMARY KEY,
        at timestamptz NOT NULL DEFAULT clock_timestamp())""",
    """CREATE TABLE IF NOT EXISTS lochan.records (
        lake text COLLATE "C", journal text COLLATE "C", number bigint,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        data bytea NOT NULL,
        PRIMARY KEY (lake, journal, number))""",
    "ALTER TABLE lochan.records ALTER COLUMN data SET STORAGE EXTERNAL",
    """CREATE TABLE IF NOT EXISTS lochan.segments (
        lake text COLLATE "C", journal text COLLATE "C", number bigint,
        at timestamptz NOT NULL DEFAULT clock_timestamp(),
        PRIMARY KEY (lake, journal, number))""",
)


def _options(url: str) -> dict[str, Any]:
    try:
        options = conninfo_to_dict(url)
    except psycopg.Error:  # its message repeats the URL with the password
        raise Invalid("the URL of the journal's database cannot be read", hint=URL_SETTING) from None
    # A password with an unescaped slash ends up, in parts, where messages would show it.
    if "@" in f"{options.get('host')}{options.get('dbname')}" or not _PORTS.fullmatch(str(options.get("port") or "")):
        raise Invalid(
            "the URL of the journal's database cannot be read", hint="write / as %2F and @ as %40 in its password"
        )
    # A standby lags behind, and a record that it does not show yet would be taken for absent.
    always = {"target_session_attrs": "read-write"}
    return {"connect_timeout": _CONNECT_S, "application_name": "lochan", **options, **always}


_PORTS = re.compile(r"[\d,]*")  # one for each host


def _name(options: dict[str, Any]) -> str:
    host, port = options.get("host") or options.get("hostaddr") or "localhost", options.get("port") or 5432
    return f"postgresql://{host}:{port}/{options.get('dbname') or options.get('user') or ''}"


def _shut(line: int) -> None:
    """Ends the connection, so that a caller that waits for an answer learns that none will come."""
    with suppress(OSError), socket.socket(fileno=os.dup(line)) as copy:
        copy.shutdown(socket.SHUT_RDWR)


def _no_connection(text: str) -> LochanError:
    """Returns the error for a failed connection, for which libpq reports only text. If the reason is unknown, the error
    is Transient, because it may pass."""
    if re.search('database ".*" does not exist', text):
        return NotFound(text, hint="create the database, or correct journal.postgres.url")
    if _NOT_LET_IN.search(text):
        return Unavailable(text, hint="check the user, the password and the server's pg_hba.conf")
    if "session is read-only" in text:
        return Unavailable(text, hint="journals need the primary server, open for writing")
    return Transient(text, hint="is the server running, and journal.postgres.url right?")


_NOT_LET_IN = re.compile(
    "authentication failed|no password supplied|no pg_hba.conf entry|permission denied|not permitted to log in"
    '|role ".*" does not exist'
)
_MAY_PASS = ("08", "40", "53", "55", "57", "58", "XX")  # classes: connection, rollback, resources, operator, system


def _refusal(error: psycopg.Error, text: str) -> LochanError:
    """Returns the error that a command's failure means. An ERROR undid the command; if the session ended, the outcome
    is open."""
    state = error.sqlstate
    if state is None or error.diag.severity_nonlocalized in ("FATAL", "PANIC"):
        return _Lost(text)
    if state == "23505":
        return AlreadyExists(text)
    if state == "53100":
        return DiskFull(text, hint="make room on the database's disk")
    if state[:2] in _MAY_PASS:
        return Transient(text)
    if state == "25006":
        return Unavailable(text, hint="journals need the primary server, open for writing")
    if state == "42501":
        return Unavailable(text, hint="let the user create the schema lochan, or create it and give it to the user")
    return Unavailable(text)
