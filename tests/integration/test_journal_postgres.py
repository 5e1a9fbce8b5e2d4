"""The journal in a real PostgreSQL: the suites of every journal, and what only a database can do to one."""

from __future__ import annotations

import asyncio
import traceback

import psycopg
import pytest

from lochan.api.lake import read_events
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
    Unknown,
)
from lochan.formats import lake_file
from lochan.journal.journal import Settings
from lochan.journal.postgres import PostgresConnection
from lochan.lake import Lake
from lochan.store.memory import MemoryStore
from lochan.versioning.repositories import Repositories
from tests.journal_place import ACTOR, CLOCK, IDS, JOURNAL, QUICK, Place, create, fill, names
from tests.journal_suite import JournalSuite, TrimSuite
from tests.postgres_place import PostgresPlace
from tests.run import run
from tests.servers.postgres import PostgresServer


class TestPostgres(JournalSuite, TrimSuite):
    @pytest.fixture(autouse=True)
    def server(self, postgres_server: PostgresServer) -> None:
        self.url = postgres_server.url

    def place(self) -> Place:
        return PostgresPlace(self.url)


# --- the database ----------------------------------------------------------------------------------------------------
def test_an_append_is_synced_whatever_the_server_says(postgres_server: PostgresServer) -> None:
    """The server's own setting, in these tests, is off."""

    async def play() -> None:
        database = PostgresConnection(postgres_server.url)
        assert await database.read("SHOW synchronous_commit", ()) == [("on",)]
        assert await database.read("SHOW default_transaction_isolation", ()) == [("read committed",)]
        await database.close()

    assert postgres_server.execute("SHOW synchronous_commit") == [("off",)]
    run(play())


def test_a_delete_need_not_be_synced_and_an_append_after_it_is(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        place = PostgresPlace(postgres_server.url)
        connection = place.connection()
        slots = place.slots(connection)
        await slots.create(1, b"one")
        await slots.delete_many([1])
        assert await slots.read(1) is None
        assert await connection.read("SHOW synchronous_commit", ()) == [("on",)]
        await place.close()

    run(play())


def test_tables_are_made_once_by_many_at_once(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        databases = [PostgresConnection(url) for _ in range(8)]
        await asyncio.gather(*(database.register("lake") for database in databases))
        await asyncio.gather(*(database.check_registered("lake") for database in databases))
        for database in databases:
            await database.close()

    url = postgres_server.new_database()
    run(play())
    assert postgres_server.execute("SELECT lake FROM lochan.lakes", url) == [("lake",)]


def test_several_lakes_share_a_database(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        places = [PostgresPlace(postgres_server.url) for _ in range(2)]
        for index, place in enumerate(places):
            await fill(await place.journal(), 5, f"lake-{index}")
        for index, place in enumerate(places):
            journal = await place.journal()
            assert names(await journal.fresh()) == [f"lake-{index}-{number}" for number in range(5)]
            await journal.trim()
        for place in places:
            assert (await (await place.journal()).fresh()).number == 5
            await place.close()

    run(play())


def test_a_large_record_comes_back_as_it_was(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        place = PostgresPlace(postgres_server.url)
        data = bytes(range(256)) * 20_000
        await place.slots().create(1, data)
        assert await place.slots().read_many(1, 3) == [data, None]
        await place.close()

    run(play())


# --- being refused ---------------------------------------------------------------------------------------------------
def test_a_refused_login_says_why_without_the_password(postgres_server: PostgresServer) -> None:
    secret = "do-not/tell%anybody"
    server = postgres_server
    cases: dict[str, tuple[str, type[LochanError]]] = {
        "a wrong password": (server.url_of("postgres", password=secret), Unavailable),
        "an unknown user": (server.url_of("postgres", user="stranger", password=secret), Unavailable),
        "an unknown database": (server.url_of("nowhere"), NotFound),
        "a server that is not there": ("postgresql://me:do-not@127.0.0.1:1/x", Transient),
        "a host that is not there": ("postgresql://me:do-not@nowhere.invalid/x", Transient),
    }

    async def error_of(url: str) -> LochanError:
        database = PostgresConnection(url)
        with pytest.raises(LochanError) as caught:
            await database.register("lake")
        await database.close()
        return caught.value

    for url, kind in cases.values():
        error = run(error_of(url))
        assert type(error) is kind
        assert error.hint
        text = "".join(traceback.format_exception(error))
        assert "do-not" not in text
        assert "odd+letters" not in text
        assert "odd%2Bletters" not in text


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:do-not%tell@host/x",
        "postgresql://me:do-not/tell@host/x",
        "postgresql://me:1/do-not@host/x",
        "postgresql://[do-not",
        "do-not tell",
    ],
)
def test_an_invalid_url_is_not_shown_either(url: str) -> None:
    with pytest.raises(Invalid) as caught:
        PostgresConnection(url)
    assert "do-not" not in "".join(traceback.format_exception(caught.value))
    assert caught.value.hint


def test_a_read_only_server_is_refused(postgres_server: PostgresServer) -> None:
    url = postgres_server.new_database()
    database = url.rpartition("/")[2]

    async def play() -> None:
        place = PostgresPlace(url)
        connection = place.connection()
        journal = await place.journal(place.slots(connection))
        await journal.submit(create("before"))
        await connection.write("SET default_transaction_read_only = on", ())
        with pytest.raises(Refused, match="read-only"):
            await journal.submit(create("during"))
        assert names(await journal.fresh()) == ["before"]
        postgres_server.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        with pytest.raises(Refused, match="read-only"):
            await (await place.journal()).fresh()
        await place.close()

    run(play())


def test_a_user_without_rights_is_refused(postgres_server: PostgresServer) -> None:
    url = postgres_server.new_database()
    database = url.rpartition("/")[2]
    postgres_server.execute("CREATE ROLE guest LOGIN PASSWORD 'guest'")
    guest = postgres_server.url_of(database, user="guest", password="guest")

    async def play() -> None:
        connection = PostgresConnection(guest)
        with pytest.raises(Refused, match="permission denied") as caught:
            await connection.register("lake")
        assert "schema lochan" in caught.value.hint
        await connection.close()

    run(play())


def test_a_full_disk_fails_the_request_and_writes_nothing(postgres_server: PostgresServer) -> None:
    full = """
        CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS
            $$BEGIN RAISE EXCEPTION 'could not extend file: no space left' USING ERRCODE = 'disk_full'; END$$;
        CREATE TRIGGER full_disk BEFORE INSERT ON lochan.records EXECUTE FUNCTION full_disk()"""

    async def play() -> None:
        place = PostgresPlace(url)
        journal = await place.journal()
        await journal.submit(create("before"))
        postgres_server.execute(full, url)
        with pytest.raises(DiskFull, match="no space left"):
            await journal.submit(create("during"))
        postgres_server.execute("DROP TRIGGER full_disk ON lochan.records", url)
        await journal.submit(create("after"))
        assert names(await (await place.journal()).fresh()) == ["after", "before"]
        await place.close()

    url = postgres_server.new_database()
    run(play())


# --- commands without an answer --------------------------------------------------------------------------------------
def test_an_append_that_is_not_answered_in_time_is_open_and_may_still_land(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        place = PostgresPlace(url)
        await place.slots().create(1, b"one")
        slow = place.slots(place.connection(command_s=0.3))
        assert await slow.read(1) == b"one"
        async with await psycopg.AsyncConnection.connect(url) as other:
            await other.execute("LOCK TABLE lochan.records IN EXCLUSIVE MODE")
            with pytest.raises(Transient):
                await slow.create(2, b"two")
            assert await slow.read(2) is None, "connected anew; and not there yet"
        for _ in range(100):
            if await slow.read(2) is not None:
                break
            await asyncio.sleep(0.02)
        assert await slow.read(2) == b"two", "the server was never asked to cancel it"
        with pytest.raises(AlreadyExists):
            await slow.create(2, b"two")
        await place.close()

    url = postgres_server.new_database()
    run(play())


def test_a_cancelled_caller_does_not_cancel_the_append(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        place = PostgresPlace(url)
        slots = place.slots(place.connection())
        await slots.create(1, b"one")
        async with await psycopg.AsyncConnection.connect(url) as other:
            await other.execute("LOCK TABLE lochan.records IN EXCLUSIVE MODE")
            asking = asyncio.create_task(slots.create(2, b"two"))
            await asyncio.sleep(0.2)  # whether it waits by then or not, the next command has its turn
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        assert await slots.read(2) == b"two", "the next command waited for its turn"
        await place.close()

    url = postgres_server.new_database()
    run(play())


def test_a_session_that_was_ended_is_opened_again(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        place = PostgresPlace(url)
        journal = await place.journal()
        await fill(journal, 2)
        for index in range(3):
            postgres_server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'lochan'"
            )
            if index % 2:
                await journal.fresh()  # a read is asked again by itself
            await journal.submit(create(f"again-{index}"))
        assert [s.record.number async for s in journal.records()] == [1, 2, 3, 4, 5]
        await place.close()

    url = postgres_server.new_database()
    run(play())


def test_a_server_that_dies_and_comes_back_loses_and_doubles_nothing(postgres_server: PostgresServer) -> None:
    server = postgres_server

    async def play() -> None:
        place = PostgresPlace(server.url)
        journals = [await place.journal(), await place.journal(settings=QUICK)]  # one waits for it, one gives up
        acknowledged: dict[str, str] = {}
        doubtful: dict[str, str] = {}
        stop = False

        async def writes(lane: int) -> None:
            journal = journals[lane % 2]
            for index in range(10_000):
                if stop:
                    return
                name, key = f"lane-{lane}-{index}", IDS.idempotency_key(CLOCK.wall())
                try:
                    acknowledged[name] = await journal.submit(create(name, key, b"print"))
                except (Unknown, Transient):
                    doubtful[name] = key
                    await asyncio.sleep(0.02)

        lanes = [asyncio.create_task(writes(lane)) for lane in range(8)]
        for _ in range(3):
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.stop, immediate=True)
            await asyncio.sleep(0.2)
            server.start()
        await asyncio.sleep(0.2)  # some more writes after the last stop
        stop = True
        await asyncio.gather(*lanes)
        assert len(acknowledged) > 50
        assert doubtful
        settled = await place.journal()
        for name, key in doubtful.items():
            acknowledged[name] = await settled.submit(create(name, key, b"print"))
        cold = await place.journal()
        state = await cold.fresh()
        assert {one.name: one.id for one in state.of(Repositories).all()} == acknowledged
        made = [entry async for sealed in cold.records() for entry in sealed.record.entries]
        assert len(made) == len(acknowledged), "each was carried out once"
        await place.close()

    run(play())


def test_the_outcome_is_unknown_while_the_server_is_away(postgres_server: PostgresServer) -> None:
    server = postgres_server

    async def play() -> None:
        place = PostgresPlace(server.url)
        journal = await place.journal(settings=Settings(patience_s=0.3))
        await journal.submit(create("before"))
        await asyncio.to_thread(server.stop, immediate=True)
        key = IDS.idempotency_key(CLOCK.wall())
        with pytest.raises(Unknown):
            await journal.submit(create("during", key, b"print"))
        with pytest.raises(Transient):
            await journal.fresh()
        with pytest.raises(Transient, match="nothing was written"):
            await journal.submit(create("meanwhile"))
        server.start()
        id = await journal.submit(create("during", key, b"print"))
        cold = await place.journal()
        assert (await cold.fresh()).of(Repositories).get("during").id == id
        assert names(await cold.fresh()) == ["before", "during"]
        await place.close()

    run(play())


# --- a lake whose journals are here ----------------------------------------------------------------------------------
def test_a_lake_with_its_journals_in_postgres(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        store = MemoryStore()
        lake = await Lake.create(store, journal="postgres", journal_url=postgres_server.url)
        assert lake.file.journal == "postgres"
        repository = await lake.create_repository("photos", actor=ACTOR)
        await lake.close()
        again = await Lake.open(store, journal_url=postgres_server.url)
        assert await again.repositories() == [repository]
        assert [line.type async for line in read_events(again, "_lake")] == ["repository-created"]
        assert [line.type async for line in read_events(again, "photos")] == ["repository-opened"]
        await again.close()
        objects = [stat.path async for stat in store.list()]
        mirrored = [f"{journal}/journal/mirror/{1:020d}-{1:020d}" for journal in (repository.id, JOURNAL)]
        assert sorted(objects) == sorted(["lake.json", *mirrored]), "the bucket holds the mirror, and no slots"

    run(play())


@pytest.mark.parametrize(
    "url, error, words",
    [
        pytest.param("", Invalid, "LOCHAN_JOURNAL__POSTGRES__URL", id="no URL"),
        pytest.param("postgresql://127.0.0.1:1/x", Transient, "journal.postgres.url", id="no server"),
    ],
)
def test_no_lake_is_made_where_its_database_cannot_be_reached(url: str, error: type[LochanError], words: str) -> None:
    async def play() -> None:
        store = MemoryStore()
        with pytest.raises(error, match=words):
            await Lake.create(store, journal="postgres", journal_url=url)
        assert [stat.path async for stat in store.list()] == []

    run(play())


def test_a_lake_is_not_opened_with_another_database(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        store = MemoryStore()
        await (await Lake.create(store, journal="postgres", journal_url=postgres_server.url)).close()
        with pytest.raises(Refused, match="holds no journals of lake"):
            await Lake.open(store, journal_url=postgres_server.new_database())
        with pytest.raises(Invalid, match=r"journal\.postgres\.url"):
            await Lake.open(store)

    run(play())


def test_a_database_that_forgot_records_is_refused(postgres_server: PostgresServer) -> None:
    """Restored from a copy that is older than a checkpoint in the bucket: to go on would give numbers out twice."""

    async def play() -> None:
        store = MemoryStore()
        lake = await Lake.create(store, journal="postgres", journal_url=url)
        for index in range(3):
            await lake.create_repository(f"repo-{index}", actor=ACTOR)
        await (await lake.journal()).checkpoint()
        await lake.close()
        postgres_server.execute(f"DELETE FROM lochan.records WHERE journal = '{JOURNAL}' AND number > 1", url)
        with pytest.raises(Corrupt, match="has forgotten record 3, which a checkpoint in the bucket knows"):
            await Lake.open(store, journal_url=url)

    url = postgres_server.new_database()
    run(play())


def test_lake_json_says_where_the_journals_are(postgres_server: PostgresServer) -> None:
    async def play() -> None:
        store = MemoryStore()
        await (await Lake.create(store, journal="postgres", journal_url=postgres_server.url)).close()
        data = await store.get("lake.json")
        assert lake_file.decode(data, store.url).journal == "postgres"
        assert b"postgresql:" not in data, "the URL, with its password, stays in the configuration"

    run(play())
